// smem / 03_pad -- rows that begin a bank further each.
//
// In, out   see tile.cuh; four rows of the table, by how the tile is written and read.
// How       a row has `pad` elements more, which nobody uses. With an odd number of words from row to row
//           a column of 32 lies in 32 banks.
// Better    than 01_static: one turn for columns too.
// Still bad a 32nd of the memory is empty; a tile whose rows have another length may need another pad.
// Source    see tile.cuh.
#include "smem/tile.cuh"

using wk::smem::by, wk::smem::launch_tile;

WK_LAUNCHER(smem_tile, cuda, row_row_pad)
{
    return launch_tile<false>(call, by::rows, by::rows, call->args.tile.pad);
}

WK_LAUNCHER(smem_tile, cuda, col_col_pad)
{
    return launch_tile<false>(call, by::columns, by::columns, call->args.tile.pad);
}

WK_LAUNCHER(smem_tile, cuda, row_col_pad)
{
    return launch_tile<false>(call, by::rows, by::columns, call->args.tile.pad);
}

WK_LAUNCHER(smem_tile, cuda, col_row_pad)
{
    return launch_tile<false>(call, by::columns, by::rows, call->args.tile.pad);
}
