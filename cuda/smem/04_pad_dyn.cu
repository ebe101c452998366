// smem / 04_pad_dyn -- padded rows in memory whose size the launch says.
//
// In, out   see tile.cuh; four rows of the table, by how the tile is written and read.
// How       the padding is in the step from row to row, and in the bytes that the launch asks for.
// Better    than 02_dyn: columns take all banks.
// Source    see tile.cuh.
#include "smem/tile.cuh"

using wk::smem::by, wk::smem::launch_tile;

WK_LAUNCHER(smem_tile, cuda, row_row_pad_dyn)
{
    return launch_tile<true>(call, by::rows, by::rows, call->args.tile.pad);
}

WK_LAUNCHER(smem_tile, cuda, col_col_pad_dyn)
{
    return launch_tile<true>(call, by::columns, by::columns, call->args.tile.pad);
}

WK_LAUNCHER(smem_tile, cuda, row_col_pad_dyn)
{
    return launch_tile<true>(call, by::rows, by::columns, call->args.tile.pad);
}

WK_LAUNCHER(smem_tile, cuda, col_row_pad_dyn)
{
    return launch_tile<true>(call, by::columns, by::rows, call->args.tile.pad);
}
