// user_thrust.h -- the vectors of Thrust, and those of its algorithms that the C++ library has too. Host and
// device are one here, so that all of it is plain code of the host over memory of either.
#pragma once
#include "emu/user.h"

#include <algorithm>
#include <functional>
#include <iostream> // as Thrust's own do
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

namespace thrust
{

template <typename T>
struct device_allocator {
    using value_type = T;
    device_allocator() = default;
    template <typename U>
    device_allocator(const device_allocator<U> &)
    {
    }
    T *allocate(size_t n)
    {
        void *block = nullptr;
        if (cudaMalloc(&block, n * sizeof(T)) != cudaSuccess) throw std::bad_alloc();
#ifdef EMU_RACES
        emu::written_by_host(block, n * sizeof(T));
#endif
        return static_cast<T *>(block);
    }
    void deallocate(T *p, size_t)
    {
        cudaFree(p);
    }
    template <typename U>
    bool operator==(const device_allocator<U> &) const
    {
        return true;
    }
    template <typename U>
    bool operator!=(const device_allocator<U> &) const
    {
        return false;
    }
};

template <typename T>
class host_vector;

// Its iterators are pointers, which kernels take.
template <typename T, typename Allocator>
class vector
{
  public:
    using value_type = T;
    using iterator = T *;
    using const_iterator = const T *;
    vector() = default;
    explicit vector(size_t n, const T &v = T()) : all(n, v) {}
    template <typename I, typename = typename std::iterator_traits<I>::value_type>
    vector(I first, I last) : all(first, last)
    {
    }
    template <typename Other>
    vector(const vector<T, Other> &v) : all(v.begin(), v.end())
    {
    }
    template <typename Other>
    vector(const std::vector<T, Other> &v) : all(v.begin(), v.end())
    {
    }
    template <typename Other>
    vector &operator=(const vector<T, Other> &v)
    {
        all.assign(v.begin(), v.end());
        return *this;
    }
    T *begin()
    {
        return all.data();
    }
    T *end()
    {
        return all.data() + all.size();
    }
    const T *begin() const
    {
        return all.data();
    }
    const T *end() const
    {
        return all.data() + all.size();
    }
    T *data()
    {
        return all.data();
    }
    const T *data() const
    {
        return all.data();
    }
    size_t size() const
    {
        return all.size();
    }
    bool empty() const
    {
        return all.empty();
    }
    T &operator[](size_t i)
    {
        return all.data()[i];
    }
    const T &operator[](size_t i) const
    {
        return all.data()[i];
    }
    void resize(size_t n, const T &v = T())
    {
        all.resize(n, v);
    }
    void push_back(const T &v)
    {
        all.push_back(v);
    }
    void clear()
    {
        all.clear();
    }

  private:
    std::vector<T, Allocator> all;
};

template <typename T>
class host_vector : public vector<T, std::allocator<T>>
{
  public:
    using vector<T, std::allocator<T>>::vector;
    using vector<T, std::allocator<T>>::operator=;
};
template <typename T>
class device_vector : public vector<T, device_allocator<T>>
{
  public:
    using vector<T, device_allocator<T>>::vector;
    using vector<T, device_allocator<T>>::operator=;
};

template <typename T>
using device_ptr = T *;

template <typename T>
T *
raw_pointer_cast(T *p)
{
    return p;
}

template <typename T>
T *
device_pointer_cast(T *p)
{
    return p;
}

// ---- algorithms ---------------------------------------------------------------------------------

struct policy {
};
constexpr policy host, device, seq;

// With a policy in front, or without one.
#define EMU_ALGORITHM(name, ...)                                                               \
    template <typename... A>                                                                   \
    auto name(policy, A &&...a)                                                                \
    {                                                                                          \
        return __VA_ARGS__(std::forward<A>(a)...);                                             \
    }                                                                                          \
    template <typename First, typename... A,                                                   \
              typename = std::enable_if_t<!std::is_same_v<std::decay_t<First>, policy>>>       \
    auto name(First &&first, A &&...a)                                                         \
    {                                                                                          \
        return __VA_ARGS__(std::forward<First>(first), std::forward<A>(a)...);                 \
    }
#define EMU_SAME(name) EMU_ALGORITHM(name, std::name)
EMU_SAME(copy)
EMU_SAME(count)
EMU_SAME(count_if)
EMU_SAME(equal)
EMU_SAME(exclusive_scan)
EMU_SAME(fill)
EMU_SAME(find)
EMU_SAME(for_each)
EMU_SAME(inclusive_scan)
EMU_SAME(is_sorted)
EMU_SAME(max_element)
EMU_SAME(min_element)
EMU_SAME(sort)
EMU_SAME(stable_sort)
EMU_SAME(transform)
EMU_SAME(unique)
#undef EMU_SAME

namespace own
{

template <typename I, typename T = typename std::iterator_traits<I>::value_type>
void
sequence(I first, I last, T start = T(), T step = T(1))
{
    for (; first != last; ++first, start = start + step) *first = start;
}

template <typename I, typename F>
void
generate(I first, I last, F f)
{
    for (; first != last; ++first) *first = f();
}

template <typename I, typename T = typename std::iterator_traits<I>::value_type,
          typename F = std::plus<T>>
T
reduce(I first, I last, T start = T(), F f = F())
{
    for (; first != last; ++first) start = f(start, *first);
    return start;
}

template <typename I, typename U, typename T, typename F>
T
transform_reduce(I first, I last, U of, T start, F f)
{
    for (; first != last; ++first) start = f(start, of(*first));
    return start;
}

template <typename K, typename V,
          typename F = std::less<typename std::iterator_traits<K>::value_type>>
void
sort_by_key(K first, K last, V values, F before = F()) // stable
{
    std::vector<size_t> order((size_t)(last - first));
    std::iota(order.begin(), order.end(), (size_t)0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return before(first[a], first[b]); });
    const std::vector<typename std::iterator_traits<K>::value_type> k(first, last);
    const std::vector<typename std::iterator_traits<V>::value_type> v(values,
                                                                      values + (last - first));
    for (size_t i = 0; i < order.size(); i++) {
        first[i] = k[order[i]];
        values[i] = v[order[i]];
    }
}

} // namespace own

EMU_ALGORITHM(sequence, own::sequence)
EMU_ALGORITHM(generate, own::generate)
EMU_ALGORITHM(reduce, own::reduce)
EMU_ALGORITHM(transform_reduce, own::transform_reduce)
EMU_ALGORITHM(sort_by_key, own::sort_by_key)
EMU_ALGORITHM(stable_sort_by_key, own::sort_by_key)
#undef EMU_ALGORITHM

// ---- functions, tuples, random numbers ----------------------------------------------------------

using std::divides;
using std::equal_to;
using std::get;
using std::greater;
using std::less;
using std::make_tuple;
using std::minus;
using std::multiplies;
using std::negate;
using std::plus;
using std::tuple;

template <typename T>
struct maximum {
    T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
template <typename T>
struct minimum {
    T operator()(const T &a, const T &b) const
    {
        return b < a ? b : a;
    }
};

template <typename... I>
struct zip_iterator {
    std::tuple<I...> at;
    auto operator*() const
    {
        return std::apply([](const I &...i) { return std::tie(*i...); }, at);
    }
    zip_iterator &operator++()
    {
        std::apply([](I &...i) { (++i, ...); }, at);
        return *this;
    }
    bool operator!=(const zip_iterator &o) const
    {
        return at != o.at;
    }
};

template <typename... I>
zip_iterator<I...>
make_zip_iterator(std::tuple<I...> at)
{
    return {at};
}

namespace random
{
using default_random_engine = std::minstd_rand;
using minstd_rand = std::minstd_rand;
template <typename T>
using uniform_int_distribution = std::uniform_int_distribution<T>;
template <typename T>
using uniform_real_distribution = std::uniform_real_distribution<T>;
template <typename T>
using normal_distribution = std::normal_distribution<T>;
} // namespace random
using namespace random;

} // namespace thrust
