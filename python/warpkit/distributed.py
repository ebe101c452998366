"""Partials of many processes, merged by their own collectives: MPI's, or torch.distributed's.

Needs mpi4py for communicators, torch for process groups; whichever is used.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import Any

import numpy as np

from warpkit._partial import HOW, Partial, _lengthened, _longer, _merged

# Their names in MPI and in torch, by what Partial.how says.
COLLECTIVES = {"sum": "SUM", "min": "MIN", "max": "MAX"}


def allreduce(partial: Partial, comm: Any = None) -> Partial:
    """The partial of all processes' parts, in each of them.

    Parameters
    ----------
    partial : Partial
        Of the same ops, dtype, shape, ddof and edges in each process; of bincounts any lengths.
    comm : object, optional
        mpi4py's communicator, or a process group of torch.distributed: gloo and other ones of the
        CPU, or nccl, which takes the words by the process's current GPU. None: torch's default
        group where torch.distributed has one, else MPI.COMM_WORLD.

    Returns
    -------
    Partial

    Raises
    ------
    ValueError
        In every process, where the partials are not of the same.
    TypeError
        likewise.
    OverflowError
        A count that an int64 does not hold.

    See Also
    --------
    warpkit.merge

    Notes
    -----
    One all-reduce of int64 for all sums, one more for each of minima and maxima; what is merged in
    another way (argmin, products, extremes of complex numbers) is gathered. The bits do not depend
    on which process is done first, nor on the algorithm. Before these, one short message finds out
    whether the partials are of the same.

    References
    ----------
    MPI_Allreduce; torch.distributed.all_reduce.
    """
    group = _group_of(comm)
    mine = partial._of if isinstance(partial, Partial) else type(partial).__name__
    known = group.gather_objects(mine)
    for name in known:
        if isinstance(name, str):
            raise TypeError(f"partial must be a Partial in every process, not {name}")
    of = functools.reduce(_longer, known)
    own = _lengthened(partial, of)
    words, how = own.words, own.how
    for name, collective in COLLECTIVES.items():
        columns = how == name
        if columns.any():
            words[..., columns] = group.reduce(
                np.ascontiguousarray(words[..., columns]), collective
            )
    others = [field for field in of.fields if HOW[field.kind] not in COLLECTIVES]
    if others:
        columns = ~np.isin(how, list(COLLECTIVES))
        gathered = group.gather(np.ascontiguousarray(words[..., columns]))
        words[..., columns] = _merged(gathered, others)
    return Partial.from_words(words, own, group.size)


# ---- groups ------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Mpi:
    comm: Any

    @property
    def size(self) -> int:
        return int(self.comm.Get_size())

    def reduce(self, words: np.ndarray, collective: str) -> np.ndarray:
        from mpi4py import MPI

        out = np.empty_like(words)
        self.comm.Allreduce(words, out, getattr(MPI, collective))
        return out

    def gather(self, words: np.ndarray) -> np.ndarray:
        out = np.empty((self.size, *words.shape), np.int64)
        self.comm.Allgather(words, out)
        return out

    def gather_objects(self, thing: Any) -> list[Any]:
        return list(self.comm.allgather(thing))


@dataclasses.dataclass
class _Torch:
    group: Any

    @property
    def size(self) -> int:
        import torch.distributed as dist

        return int(dist.get_world_size(self.group))

    def _tensor(self, words: np.ndarray) -> Any:
        import torch
        import torch.distributed as dist

        there = torch.from_numpy(words)
        return there.cuda() if dist.get_backend(self.group) == "nccl" else there

    def reduce(self, words: np.ndarray, collective: str) -> np.ndarray:
        import torch.distributed as dist

        tensor = self._tensor(words)
        dist.all_reduce(tensor, getattr(dist.ReduceOp, collective), self.group)
        found: np.ndarray = tensor.cpu().numpy()
        return found

    def gather(self, words: np.ndarray) -> np.ndarray:
        import torch
        import torch.distributed as dist

        tensor = self._tensor(words)
        out = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(out, tensor, self.group)
        return np.stack([one.cpu().numpy() for one in out])

    def gather_objects(self, thing: Any) -> list[Any]:
        import torch.distributed as dist

        out: list[Any] = [None] * self.size
        dist.all_gather_object(out, thing, self.group)
        return out


def _group_of(comm: Any) -> _Mpi | _Torch:
    torch = sys.modules.get("torch")
    known = torch is not None and torch.distributed.is_available()
    if comm is None and known and sys.modules["torch"].distributed.is_initialized():
        return _Torch(None)
    if comm is None:
        from mpi4py import MPI

        return _Mpi(MPI.COMM_WORLD)
    if known and isinstance(comm, sys.modules["torch"].distributed.ProcessGroup):
        return _Torch(comm)
    if hasattr(comm, "Allreduce"):
        return _Mpi(comm)
    raise TypeError(
        "comm must be a communicator of mpi4py or a process group of torch.distributed, not "
        f"{type(comm).__name__}"
    )
