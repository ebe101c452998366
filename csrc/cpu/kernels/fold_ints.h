/* fold_ints.h -- reduce_body.h for bool and the eight integer types. No include guard.
 * Expects OP, IDENTITY, LANE(T): the lanes' type, and TO_LANE(x): an element in a lane. */
#define T uint8_t
#define A LANE(T)
#define LOAD(x) TO_LANE((x) != 0)
#define FOLD(name) name##_bool
#include "reduce_body.h"
#define T int8_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_i8
#include "reduce_body.h"
#define T uint8_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_u8
#include "reduce_body.h"
#define T int16_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_i16
#include "reduce_body.h"
#define T uint16_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_u16
#include "reduce_body.h"
#define T int32_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_i32
#include "reduce_body.h"
#define T uint32_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_u32
#include "reduce_body.h"
#define T int64_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_i64
#include "reduce_body.h"
#define T uint64_t
#define A LANE(T)
#define LOAD TO_LANE
#define FOLD(name) name##_u64
#include "reduce_body.h"
