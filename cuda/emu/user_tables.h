// user_tables.h -- what a user's source for a GPU has of its own kernels and variables: constants in
// the machine code's file, which _cubin.py reads there. _syntax.py adds them.
#pragma once
#include "emu/user_facts.h"

namespace warpkit
{

template <typename... P_>
struct kernel_table {
    void (*kernel)(P_...); // the file has the symbol's name
    int count;
    type_facts types[sizeof...(P_) + 1];
};

template <typename... P_>
__host__ __device__ constexpr kernel_table<P_...>
table_of(void (*kernel)(P_...))
{
    return {kernel, (int)sizeof...(P_), {facts_of<P_>::value...}};
}

struct shape {
    int ndim;
    long long extents[8];
};

template <typename T_>
struct extents_of {
    using element = T_;
    __host__ __device__ static constexpr void append(shape *) {}
};
template <typename T_, decltype(sizeof 0) N_>
struct extents_of<T_[N_]> {
    using element = typename extents_of<T_>::element;
    __host__ __device__ static constexpr void append(shape *of)
    {
        of->extents[of->ndim++] = N_;
        extents_of<T_>::append(of);
    }
};

template <typename T_>
struct variable_table {
    T_ *place; // null: a managed variable's, which is no constant
    type_facts type;
    shape whole;
};

template <typename T_>
__host__ __device__ constexpr variable_table<T_>
variable_of(T_ *place)
{
    shape whole = {};
    extents_of<T_>::append(&whole);
    return {place, facts_of<typename extents_of<T_>::element>::value, whole};
}

template <typename T_>
struct managed;
template <typename T_>
struct managed<T_ &> {
    __host__ __device__ static constexpr variable_table<T_> table()
    {
        return variable_of<T_>(nullptr);
    }
};

} // namespace warpkit
