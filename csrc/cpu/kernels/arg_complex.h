/* arg_complex.h -- arg_body.h for complex64, whose order 8 bytes hold. No include guard. */
#define T wk_two_floats
#define A int64_t
#define OF(name) WK_PASTE(name, c64)
#define KIND(name) name##_c64
#include "arg_body.h"
#undef T
#undef A
#undef OF
#undef KIND
