"""An exact sum over processes of torch.distributed, each with a part of a tensor.

python examples/torch_sum.py    # starts 4 of them here, with gloo; on GPUs it would be nccl
"""

import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import warpkit
from warpkit.distributed import allreduce

SIZE = 4


def run(rank: int, file: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=SIZE)
    whole = torch.randn(100_003, generator=torch.Generator().manual_seed(0)) * 1e6
    own = whole[rank * len(whole) // SIZE : (rank + 1) * len(whole) // SIZE]

    part = warpkit.partial(own, ("sum", "std", "min"))
    result = allreduce(part).finish()
    assert result == warpkit.reduce(whole.numpy(), ("sum", "std", "min"))
    if rank == 0:
        print(f"{SIZE} processes: sum {result.sum!r}, std {result.std!r}, min {result.min!r}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile() as file:
        processes.spawn(run, (file.name + ".store",), nprocs=SIZE)
