// matmul.cu -- a matrix product by tiles: what a block loads once, each of its rows or columns uses.
//
// In, out   a[m][k], b[k][n] -> c[m][n]; blocks of kTile x kTile threads, a grid of c's tiles.
// Source    CUDA C Programming Guide (2007), "Shared Memory".

namespace multiplication
{

constexpr int kTile = 8;

__global__ void
matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
    float sum = 0;
    for (int at = 0; at < k; at += kTile) {
        tile_a[y][x] = row < m && at + x < k ? a[(long long)row * k + at + x] : 0;
        tile_b[y][x] = column < n && at + y < k ? b[(long long)(at + y) * n + column] : 0;
        __syncthreads(); // the tiles are full
        for (int i = 0; i < kTile; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads(); // and read, before the next ones take their place
    }
    if (row < m && column < n) c[(long long)row * n + column] = sum;
}

} // namespace multiplication
