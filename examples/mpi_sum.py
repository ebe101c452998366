"""An exact sum over the processes of MPI: the same bits however many there are.

mpirun -n 4 python examples/mpi_sum.py
"""

import numpy as np
import warpkit
from mpi4py import MPI
from warpkit.distributed import allreduce

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()

# Each process has its part of an array whose sum cancels almost to nothing.
whole = np.random.default_rng(0).normal(size=100_003) * 1e12
whole[1::2] = -whole[0:-1:2]
own = whole[rank * len(whole) // size : (rank + 1) * len(whole) // size]

part = warpkit.partial(own, ("sum", "std", "argmax"), offset=rank * len(whole) // size)
result = allreduce(part, comm).finish()
assert result == warpkit.reduce(whole, ("sum", "std", "argmax"))
if rank == 0:
    print(f"{size} processes: sum {result.sum!r}, std {result.std!r}, argmax {result.argmax!r}")
