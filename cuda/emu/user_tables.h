// user_tables.h -- what a user's source for a GPU has of its own kernels and variables: constants in
// the machine code's file, which _cubin.py reads there. _syntax.py adds them.
#pragma once
#include "emu/user_facts.h"

namespace warpkit
{

template <typename... P>
struct kernel_table {
    void (*kernel)(P...); // the file has the symbol's name
    int count;
    type_facts types[sizeof...(P) + 1];
};

template <typename... P>
__host__ __device__ constexpr kernel_table<P...>
table_of(void (*kernel)(P...))
{
    return {kernel, (int)sizeof...(P), {facts_of<P>::value...}};
}

struct shape {
    int ndim;
    long long extents[8];
};

template <typename T>
struct extents_of {
    using element = T;
    __host__ __device__ static constexpr void append(shape *) {}
};
template <typename T, decltype(sizeof 0) N>
struct extents_of<T[N]> {
    using element = typename extents_of<T>::element;
    __host__ __device__ static constexpr void append(shape *of)
    {
        of->extents[of->ndim++] = N;
        extents_of<T>::append(of);
    }
};

template <typename T>
struct variable_table {
    T *place; // null: a managed variable's, which is no constant
    type_facts type;
    shape whole;
};

template <typename T>
__host__ __device__ constexpr variable_table<T>
variable_of(T *place)
{
    shape whole = {};
    extents_of<T>::append(&whole);
    return {place, facts_of<typename extents_of<T>::element>::value, whole};
}

} // namespace warpkit
