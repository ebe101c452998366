/* each_real.h -- includes BODY, which names a file, once for each real dtype. No include guard.
 *   T           its type in memory
 *   A           the integers in whose order it can be ordered (keys.h); of float and double U, their bits
 *   OF(name)    name_i8 and so on
 *   KIND(name)  name_truth, name_int, name_long (of 8 bytes), name_f16, name_bf16, name_f32, name_f64
 * They are gone after each BODY. */
#define T uint8_t
#define A uint8_t
#define OF(name) WK_PASTE(name, bool)
#define KIND(name) name##_truth
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T int8_t
#define A int8_t
#define OF(name) WK_PASTE(name, i8)
#define KIND(name) name##_int
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T uint8_t
#define A uint8_t
#define OF(name) WK_PASTE(name, u8)
#define KIND(name) name##_int
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T int16_t
#define A int16_t
#define OF(name) WK_PASTE(name, i16)
#define KIND(name) name##_int
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T uint16_t
#define A uint16_t
#define OF(name) WK_PASTE(name, u16)
#define KIND(name) name##_int
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T int32_t
#define A int32_t
#define OF(name) WK_PASTE(name, i32)
#define KIND(name) name##_int
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T uint32_t
#define A uint32_t
#define OF(name) WK_PASTE(name, u32)
#define KIND(name) name##_int
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T int64_t
#define A int64_t
#define OF(name) WK_PASTE(name, i64)
#define KIND(name) name##_long
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T uint64_t
#define A uint64_t
#define OF(name) WK_PASTE(name, u64)
#define KIND(name) name##_long
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T uint16_t
#define A int16_t
#define OF(name) WK_PASTE(name, f16)
#define KIND(name) name##_f16
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T uint16_t
#define A int16_t
#define OF(name) WK_PASTE(name, bf16)
#define KIND(name) name##_bf16
#include BODY
#undef T
#undef A
#undef OF
#undef KIND
#define T float
#define A int32_t
#define U uint32_t
#define OF(name) WK_PASTE(name, f32)
#define KIND(name) name##_f32
#include BODY
#undef T
#undef A
#undef U
#undef OF
#undef KIND
#define T double
#define A int64_t
#define U uint64_t
#define OF(name) WK_PASTE(name, f64)
#define KIND(name) name##_f64
#include BODY
#undef T
#undef A
#undef U
#undef OF
#undef KIND
#undef BODY
