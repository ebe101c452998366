/* arg_types.h -- arg_body.h for every dtype but complex128. No include guard.
 * Expects BETTER(a, b), OP, LOSER(A), WINNER(A), NAME(name). */
#define T uint8_t
#define A uint8_t
#define KEY(x) ((x) ? UINT8_MAX : 0)
#define WORST LOSER(uint8_t)
#define NAN_KEY LOSER(uint8_t)
#define FN(name) NAME(name##_bool)
#include "arg_body.h"
#define T int8_t
#define A int8_t
#define KEY(x) (x)
#define WORST LOSER(int8_t)
#define NAN_KEY LOSER(int8_t)
#define FN(name) NAME(name##_i8)
#include "arg_body.h"
#define T uint8_t
#define A uint8_t
#define KEY(x) (x)
#define WORST LOSER(uint8_t)
#define NAN_KEY LOSER(uint8_t)
#define FN(name) NAME(name##_u8)
#include "arg_body.h"
#define T int16_t
#define A int16_t
#define KEY(x) (x)
#define WORST LOSER(int16_t)
#define NAN_KEY LOSER(int16_t)
#define FN(name) NAME(name##_i16)
#include "arg_body.h"
#define T uint16_t
#define A uint16_t
#define KEY(x) (x)
#define WORST LOSER(uint16_t)
#define NAN_KEY LOSER(uint16_t)
#define FN(name) NAME(name##_u16)
#include "arg_body.h"
#define T int32_t
#define A int32_t
#define KEY(x) (x)
#define WORST LOSER(int32_t)
#define NAN_KEY LOSER(int32_t)
#define FN(name) NAME(name##_i32)
#include "arg_body.h"
#define T uint32_t
#define A uint32_t
#define KEY(x) (x)
#define WORST LOSER(uint32_t)
#define NAN_KEY LOSER(uint32_t)
#define FN(name) NAME(name##_u32)
#include "arg_body.h"
#define T int64_t
#define A int64_t
#define KEY(x) (x)
#define WORST LOSER(int64_t)
#define NAN_KEY LOSER(int64_t)
#define FN(name) NAME(name##_i64)
#include "arg_body.h"
#define T uint64_t
#define A uint64_t
#define KEY(x) (x)
#define WORST LOSER(uint64_t)
#define NAN_KEY LOSER(uint64_t)
#define FN(name) NAME(name##_u64)
#include "arg_body.h"
#define T uint16_t
#define A int16_t
#define KEY(x) WK_ZEROS_EQUAL(int16_t, wk_order_16(x, 0x7c00, WINNER(int16_t)))
#define WORST LOSER(int16_t)
#define NAN_KEY WINNER(int16_t)
#define FN(name) NAME(name##_f16)
#include "arg_body.h"
#define T uint16_t
#define A int16_t
#define KEY(x) WK_ZEROS_EQUAL(int16_t, wk_order_16(x, 0x7f80, WINNER(int16_t)))
#define WORST LOSER(int16_t)
#define NAN_KEY WINNER(int16_t)
#define FN(name) NAME(name##_bf16)
#include "arg_body.h"
#define T float
#define U uint32_t
#define A int32_t
#define KEY(x) wk_order_32((x) << 1 ? (x) : 0, WINNER(int32_t))
#define VALUE(key) wk_unorder_f32(key)
#define WORST LOSER(int32_t)
#define NAN_KEY WINNER(int32_t)
#define FN(name) NAME(name##_f32)
#include "arg_body.h"
#define T double
#define U uint64_t
#define A int64_t
#define KEY(x) wk_order_64((x) << 1 ? (x) : 0, WINNER(int64_t))
#define VALUE(key) wk_unorder_f64(key)
#define WORST LOSER(int64_t)
#define NAN_KEY WINNER(int64_t)
#define FN(name) NAME(name##_f64)
#include "arg_body.h"
#define T wk_two_floats
#define A int64_t
#define KEY(x) wk_order_c64(x, WINNER(int64_t))
#define WORST LOSER(int64_t)
#define NAN_KEY WINNER(int64_t)
#define FN(name) NAME(name##_c64)
#include "arg_body.h"
