// endless_loop -- the loop's variable never moves.
#include "program.cuh"

template <bool kMended>
__global__ void
sum(const int *in, int *out, volatile int *one)
{
    int total = 0;
    for (int i = 0; i < 64; i += kMended ? *one : *one - 1) total += in[i];
    *out = total;
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(1);
    volatile int *one = p.upload(std::vector<int>(1, 1));
    p.launch(argc > 1 ? sum<true> : sum<false>, 1, 1, 0, p.upload(counting(64)), out, one);
    return p.compare(out, {64 * 65 / 2});
}
