// transpose.cu -- a matrix turned over by tiles: rows are read along rows, and written along rows.
//
// In, out   x[height][width] -> out[width][height]; blocks of kTile x kTile threads, a grid of the
//           tiles.
// Padding   a column of the tile would lie in one bank of shared memory; one element more in each
//           row spreads it over all.
// Source    G. Ruetsch, P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009).

namespace transposition
{

constexpr int kTile = 16;

__global__ void
transpose(const float *x, float *out, int height, int width)
{
    __shared__ float tile[kTile][kTile + 1];
    int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
    if (row < height && column < width)
        tile[threadIdx.y][threadIdx.x] = x[(long long)row * width + column];
    __syncthreads(); // the tile is full
    column = blockIdx.y * kTile + threadIdx.x;
    row = blockIdx.x * kTile + threadIdx.y;
    if (row < width && column < height)
        out[(long long)row * height + column] = tile[threadIdx.x][threadIdx.y];
}

} // namespace transposition
