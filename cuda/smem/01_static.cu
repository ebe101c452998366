// smem / 01_static -- an array of fixed size, rows without a gap.
//
// In, out   see tile.cuh; four rows of the table, by how the tile is written and read.
// How       the compiler knows where the tile lies. A row of 32 words takes all 32 banks, a column of them
//           one: a warp that goes along a column is served lane after lane, 32 turns.
// Still bad columns. 03_pad moves each row by a bank.
// Source    see tile.cuh.
#include "smem/tile.cuh"

using wk::smem::by, wk::smem::launch_tile;

WK_LAUNCHER(smem_tile, cuda, row_row)
{
    return launch_tile<false>(call, by::rows, by::rows, 0);
}

WK_LAUNCHER(smem_tile, cuda, col_col)
{
    return launch_tile<false>(call, by::columns, by::columns, 0);
}

WK_LAUNCHER(smem_tile, cuda, row_col)
{
    return launch_tile<false>(call, by::rows, by::columns, 0);
}

WK_LAUNCHER(smem_tile, cuda, col_row)
{
    return launch_tile<false>(call, by::columns, by::rows, 0);
}
