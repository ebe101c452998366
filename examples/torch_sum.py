"""An exact sum over processes of torch.distributed, each with a part of a tensor.

python examples/torch_sum.py         # starts 4 of them here, with gloo
python examples/torch_sum.py nccl    # one for each GPU, whose tensors lie there
"""

import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import warpkit
from warpkit.distributed import allreduce


def run(rank: int, size: int, backend: str, file: str) -> None:
    if backend == "nccl":
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, init_method=f"file://{file}", rank=rank, world_size=size)
    whole = torch.randn(100_003, generator=torch.Generator().manual_seed(0)) * 1e6
    own = whole[rank * len(whole) // size : (rank + 1) * len(whole) // size]

    part = warpkit.partial(own.cuda() if backend == "nccl" else own, ("sum", "std", "min"))
    result = allreduce(part).finish()
    assert result == warpkit.reduce(whole.numpy(), ("sum", "std", "min"))
    if rank == 0:
        print(f"{size} processes: sum {result.sum!r}, std {result.std!r}, min {result.min!r}")
    dist.destroy_process_group()


if __name__ == "__main__":
    backend = sys.argv[1] if len(sys.argv) > 1 else "gloo"
    size = torch.cuda.device_count() if backend == "nccl" else 4
    with tempfile.NamedTemporaryFile() as file:
        processes.spawn(run, (size, backend, file.name + ".store"), nprocs=size)
