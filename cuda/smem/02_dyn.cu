// smem / 02_dyn -- the same layout in memory whose size the launch says.
//
// In, out   see tile.cuh; four rows of the table, by how the tile is written and read.
// How       extern __shared__, and the bytes among the launch's arguments: for tiles whose shape is known
//           when the program runs. All of a kernel's dynamic memory is one array.
// Better    than 01_static: any shape, and more than 48 KiB where a kernel is granted that.
// Still bad columns, as there: where an array lies changes no bank.
// Source    see tile.cuh.
#include "smem/tile.cuh"

using wk::smem::by, wk::smem::launch_tile;

WK_LAUNCHER(smem_tile, cuda, row_row_dyn)
{
    return launch_tile<true>(call, by::rows, by::rows, 0);
}

WK_LAUNCHER(smem_tile, cuda, col_col_dyn)
{
    return launch_tile<true>(call, by::columns, by::columns, 0);
}

WK_LAUNCHER(smem_tile, cuda, row_col_dyn)
{
    return launch_tile<true>(call, by::rows, by::columns, 0);
}

WK_LAUNCHER(smem_tile, cuda, col_row_dyn)
{
    return launch_tile<true>(call, by::columns, by::rows, 0);
}
