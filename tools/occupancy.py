"""Compare lab.occupancy with what CUDA's runtime says on the GPU that is here.

    PYTHONPATH=python python3 tools/occupancy.py

nvcc compiles kernels of 16 to 255 registers; each is tried in many sizes of blocks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from warpkit import lab

SOURCE = """
#include <cstdio>
template <int N>
__global__ void __maxnreg__(N) kernel(float *x, int n)
{
    float v[N];
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = x[i * n + threadIdx.x];
    for (int j = 0; j < n; j++)
#pragma unroll
        for (int i = 0; i < N; i++) v[i] = v[i] * v[(i + 1) % N] + x[j];
#pragma unroll
    for (int i = 0; i < N; i++) x[i * n + threadIdx.x] = v[i];
}
template <int N>
void ask()
{
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    cudaFuncAttributes a;
    cudaFuncGetAttributes(&a, kernel<N>);
    const int most = (int)p.sharedMemPerBlockOptin;
    cudaFuncSetAttribute(kernel<N>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
    cudaFuncSetAttribute(kernel<N>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
    for (int threads = 1; threads <= 1024; threads += threads < 33 ? 31 : 32)
        for (int shared = 0; shared <= most; shared += 3001) {
            int blocks = -1;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<N>, threads, shared);
            printf("%d %d %d %d %d\\n", p.major * 10 + p.minor, threads, a.numRegs, shared, blocks);
        }
}
int main()
{
    ask<16>(), ask<32>(), ask<40>(), ask<64>(), ask<96>(), ask<128>(), ask<168>(), ask<255>();
    return cudaGetLastError();
}
"""


def main() -> None:
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "ask.cu").write_text(SOURCE)
        subprocess.run([nvcc, "-arch=native", "-o", "ask", "ask.cu"], cwd=folder, check=True)
        told = subprocess.run([f"{folder}/ask"], capture_output=True, text=True, check=True).stdout
    count = bad = 0
    for line in told.splitlines():
        capability, threads, registers, shared, blocks = map(int, line.split())
        found = lab.occupancy(threads, registers, shared, capability)
        count += 1
        if found.blocks != blocks:
            bad += 1
            print(f"{line}: {found}")
    print(f"{count} compared, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
