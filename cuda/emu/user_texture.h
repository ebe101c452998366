// user_texture.h -- arrays of CUDA's, and texture and surface objects of one and two dimensions over
// them, over linear and over pitched memory. Filtering is as the CUDA C++ Programming Guide has it in
// "Texture Fetching", with fractions of eight bits.
#pragma once
#include "emu/api.h"
#include "emu/user_facts.h"

#include <algorithm>

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc {
    int x, y, z, w; // bits
    cudaChannelFormatKind f;
};
enum {
    cudaArrayDefault = 0,
    cudaArrayLayered = 1,
    cudaArraySurfaceLoadStore = 2,
    cudaArrayCubemap = 4,
    cudaArrayTextureGather = 8
};
struct cudaArray {
    cudaChannelFormatDesc of;
    size_t width, height; // elements; of one dimension: height 0
    size_t item;          // bytes
    char *data;
    size_t depth; // or how many layers, or faces; 0: neither
    unsigned flags;
};
typedef cudaArray *cudaArray_t;
typedef const cudaArray *cudaArray_const_t;

enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct cudaResourceViewDesc;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2
};

namespace emu
{

struct texture { // what an object's number points to
    char *data;
    int64_t width, height, pitch, item; // pitch and item: bytes
    cudaChannelFormatDesc of;
    cudaTextureDesc how;
    int64_t depth;

    const char *at(int64_t x, int64_t y) const
    {
        return data + y * pitch + x * item;
    }
    // As a number of itself, or of the type's greatest.
    float channel(const char *element, int which) const
    {
        const int bytes = of.x / 8;
        const char *p = element + which * bytes;
        const bool part = how.readMode == cudaReadModeNormalizedFloat;
        if (of.f == cudaChannelFormatKindFloat) {
            float v;
            __builtin_memcpy(&v, p, sizeof v);
            return v;
        }
        int64_t v = 0;
        memcpy(&v, p, (size_t)bytes);
        if (of.f == cudaChannelFormatKindUnsigned)
            return part ? (float)v / (float)((1ll << of.x) - 1) : (float)v;
        v = (int64_t)((uint64_t)v << (64 - of.x)) >> (64 - of.x);
        return part ? std::max((float)v / (float)((1ll << (of.x - 1)) - 1), -1.0f) : (float)v;
    }
    // An index of an axis in place of one that may be beyond; -1: the border.
    int64_t inside(int64_t i, int64_t n, int axis) const
    {
        if (i >= 0 && i < n) return i;
        cudaTextureAddressMode mode = how.addressMode[axis];
        if (!how.normalizedCoords && mode != cudaAddressModeBorder)
            mode = cudaAddressModeClamp; // the others are for normalised coordinates
        if (mode == cudaAddressModeBorder) return -1;
        if (mode == cudaAddressModeClamp) return std::clamp<int64_t>(i, 0, n - 1);
        if (mode == cudaAddressModeWrap) return (i % n + n) % n;
        const int64_t twice = (i % (2 * n) + 2 * n) % (2 * n);
        return twice < n ? twice : 2 * n - 1 - twice;
    }
};

template <typename T>
T
of_channels(const float *values)
{
    T v;
    __builtin_memcpy(&v, values, sizeof v);
    return v;
}

template <typename T>
T
element(const texture &t, int64_t i, int64_t j) // below 0: the border
{
    constexpr int lanes = warpkit::kind_of<T>::lanes;
    T v = {};
    if (i < 0 || j < 0) return v;
    if (t.how.readMode == cudaReadModeElementType) {
        memcpy(&v, t.at(i, j), std::min(sizeof v, (size_t)t.item));
        return v;
    }
    float values[lanes];
    for (int c = 0; c < lanes; c++) values[c] = t.channel(t.at(i, j), c);
    return of_channels<T>(values);
}

// Without the library's function, which is a call where nobody says which processor it is: half of a
// fetch.
inline int64_t
floor_of(float x)
{
    const auto i = (int64_t)x;
    return i - ((float)i > x);
}

template <typename T>
T
fetch_point(const texture &t, float x, float y)
{
    return element<T>(t, t.inside(floor_of(x), t.width, 0), t.inside(floor_of(y), t.height, 1));
}

// The two elements about a place on an axis, -1 being the border, and how near the second one is, in
// 256ths, as a GPU has it.
struct neighbours {
    int64_t at[2];
    float part;
    neighbours(const texture &t, float x, int64_t n, int axis)
    {
        constexpr float whole =
            12582912; // 1.5 * 2^23: what is added to it is rounded to integers
        const float from = x - 0.5f;
        const int64_t first = floor_of(from);
        part = ((from - (float)first) * 256 + whole - whole) / 256;
        const bool within = first >= 0 && first + 1 < n;
        at[0] = within ? first : t.inside(first, n, axis);
        at[1] = within ? first + 1 : part != 0 ? t.inside(first + 1, n, axis) : -1;
    }
    float weight(int which) const
    {
        return which ? part : 1 - part;
    }
};

template <typename T>
T
fetch_linear(const texture &t, float x, float y, bool plane)
{
    constexpr int lanes = warpkit::kind_of<T>::lanes;
    const neighbours i(t, x, t.width, 0), j(t, plane ? y : 0.5f, t.height, 1);
    const bool plain = t.of.f == cudaChannelFormatKindFloat && t.of.x == 32;
    float values[lanes] = {};
    for (int dy = 0; dy <= (j.part != 0); dy++) // at a row's centre that one alone
        for (int dx = 0; dx <= (i.part != 0); dx++) {
            const float weight = i.weight(dx) * j.weight(dy);
            if (weight == 0 || i.at[dx] < 0 || j.at[dy] < 0) continue;
            const char *const p = t.at(i.at[dx], j.at[dy]);
            float own[lanes];
            if (plain)
                __builtin_memcpy(own, p, sizeof own);
            else
                for (int c = 0; c < lanes; c++) own[c] = t.channel(p, c);
            for (int c = 0; c < lanes; c++) values[c] += weight * own[c];
        }
    return of_channels<T>(values);
}

template <typename T>
T
fetch(const texture &t, float x, float y, bool plane)
{
    if (t.how.normalizedCoords) {
        x *= (float)t.width;
        y *= (float)t.height;
    }
    if (!plane) y = 0;
    using kind = warpkit::kind_of<T>;
    if constexpr (kind::code == 'f' && sizeof(T) == kind::lanes * sizeof(float))
        if (t.how.filterMode == cudaFilterModeLinear) return fetch_linear<T>(t, x, y, plane);
    return fetch_point<T>(t, x, y);
}

inline cudaError_t
describe(const cudaResourceDesc &resource, texture *t)
{
    const auto item = [t] { return (t->of.x + t->of.y + t->of.z + t->of.w) / 8; };
    if (resource.resType == cudaResourceTypeArray) {
        const cudaArray *a = resource.res.array.array;
        if (a == nullptr) return cudaErrorInvalidResourceHandle;
        *t = {a->data,
              (int64_t)a->width,
              std::max<int64_t>((int64_t)a->height, 1),
              (int64_t)(a->width * a->item),
              (int64_t)a->item,
              a->of,
              {},
              std::max<int64_t>((int64_t)a->depth, 1)};
    } else if (resource.resType == cudaResourceTypeLinear) {
        const auto &l = resource.res.linear;
        *t = {static_cast<char *>(l.devPtr), 0, 1, 0, 0, l.desc, {}, 1};
        t->item = item();
        t->width = t->item ? (int64_t)l.sizeInBytes / t->item : 0;
    } else {
        const auto &p = resource.res.pitch2D;
        *t = {static_cast<char *>(p.devPtr),
              (int64_t)p.width,
              (int64_t)p.height,
              (int64_t)p.pitchInBytes,
              0,
              p.desc,
              {},
              1};
        t->item = item();
    }
    return t->item > 0 && t->width > 0 ? cudaSuccess : cudaErrorInvalidValue;
}

inline cudaError_t
make_object(unsigned long long *object, const cudaResourceDesc *resource,
            const cudaTextureDesc *how)
{
    texture t = {};
    if (const cudaError_t e = describe(*resource, &t)) return note(e);
    if (how) t.how = *how;
    const bool floats =
        t.of.f == cudaChannelFormatKindFloat || t.how.readMode == cudaReadModeNormalizedFloat;
    if (t.how.filterMode == cudaFilterModeLinear && !floats) return note(cudaErrorInvalidValue);
    *object = reinterpret_cast<unsigned long long>(new texture(t));
    return note(cudaSuccess);
}

inline cudaError_t
make_array(cudaArray_t *array, const cudaChannelFormatDesc &of, size_t width, size_t height,
           size_t depth, unsigned flags)
{
    const size_t item = (size_t)(of.x + of.y + of.z + of.w) / 8;
    void *data = nullptr;
    if (item == 0 || width == 0) return note(cudaErrorInvalidValue);
    const size_t rows = std::max<size_t>(height, 1) * std::max<size_t>(depth, 1);
    const cudaError_t e = cudaMalloc(&data, width * rows * item);
    if (e == cudaSuccess)
        *array =
            new cudaArray{of, width, height, item, static_cast<char *>(data), depth, flags};
    return note(e);
}

// Rows of an array, from its byte x on: to it or from it.
inline cudaError_t
copy_rows(cudaArray_const_t array, size_t x, size_t y, char *other, size_t pitch, size_t width,
          size_t height, cudaMemcpyKind kind, bool there)
{
    const size_t own = array->width * array->item;
    if (x + width > own || y + height > std::max<size_t>(array->height, 1))
        return note(cudaErrorInvalidValue);
    char *const first = array->data + y * own + x;
    return note(
        there ? cudaMemcpy2DAsync(first, own, other, pitch, width, height, kind, nullptr)
              : cudaMemcpy2DAsync(other, pitch, first, own, width, height, kind, nullptr));
}

// Whole rows of it, one behind the other.
inline cudaError_t
copy_whole_rows(cudaArray_const_t array, size_t x, size_t y, char *other, size_t size,
                cudaMemcpyKind kind, bool there)
{
    const size_t row = std::min(size, array->width * array->item);
    if (row == 0 || size % row) return note(cudaErrorInvalidValue);
    return copy_rows(array, x, y, other, row, row, size / row, kind, there);
}

} // namespace emu

inline cudaChannelFormatDesc
cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f)
{
    return {x, y, z, w, f};
}

template <typename T>
cudaChannelFormatDesc
cudaCreateChannelDesc()
{
    using kind = warpkit::kind_of<T>;
    const int bits = (int)sizeof(T) * 8 / kind::lanes, n = kind::lanes;
    const auto f = kind::code == 'f' || kind::code == 'h' ? cudaChannelFormatKindFloat
                   : kind::code == 'u'                    ? cudaChannelFormatKindUnsigned
                                                          : cudaChannelFormatKindSigned;
    return {bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0, f};
}

inline cudaError_t
cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *of, size_t width,
                size_t height = 0, unsigned = cudaArrayDefault)
{
    return emu::make_array(array, *of, width, height, 0, 0);
}

inline cudaError_t
cudaFreeArray(cudaArray_t array)
{
    if (array == nullptr) return cudaSuccess;
    const cudaError_t e = cudaFree(array->data);
    delete array;
    return emu::note(e);
}

inline cudaError_t
cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                    size_t width, size_t height, cudaMemcpyKind kind)
{
    return emu::copy_rows(to, x, y, static_cast<char *>(const_cast<void *>(from)), pitch, width,
                          height, kind, true);
}

inline cudaError_t
cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                      size_t width, size_t height, cudaMemcpyKind kind)
{
    return emu::copy_rows(from, x, y, static_cast<char *>(to), pitch, width, height, kind,
                          false);
}

inline cudaError_t
cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t size,
                  cudaMemcpyKind kind)
{
    auto *const other = static_cast<char *>(const_cast<void *>(from));
    return emu::copy_whole_rows(to, x, y, other, size, kind, true);
}

inline cudaError_t
cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t size,
                    cudaMemcpyKind kind)
{
    return emu::copy_whole_rows(from, x, y, static_cast<char *>(to), size, kind, false);
}

inline cudaError_t
cudaCreateTextureObject(cudaTextureObject_t *object, const cudaResourceDesc *resource,
                        const cudaTextureDesc *how, const cudaResourceViewDesc *)
{
    return emu::make_object(object, resource, how);
}

inline cudaError_t
cudaDestroyTextureObject(cudaTextureObject_t object)
{
    delete reinterpret_cast<emu::texture *>(object);
    return emu::note(cudaSuccess);
}

inline cudaError_t
cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const cudaResourceDesc *resource)
{
    return emu::make_object(object, resource, nullptr);
}

inline cudaError_t
cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
    return cudaDestroyTextureObject(object);
}

template <typename T>
T
tex1Dfetch(cudaTextureObject_t object, int i)
{
    const auto &t = *reinterpret_cast<const emu::texture *>(object);
    return emu::element<T>(t, i < t.width ? i : -1, 0);
}

template <typename T>
T
tex1D(cudaTextureObject_t object, float x)
{
    return emu::fetch<T>(*reinterpret_cast<const emu::texture *>(object), x, 0, false);
}

template <typename T>
T
tex2D(cudaTextureObject_t object, float x, float y)
{
    return emu::fetch<T>(*reinterpret_cast<const emu::texture *>(object), x, y, true);
}

template <typename T>
T
tex2DLod(cudaTextureObject_t object, float x, float y, float) // there is one level
{
    return tex2D<T>(object, x, y);
}

// x counts bytes. What lies beyond is zero, is clamped, or, by default, an error.
template <typename T>
char *
emu_surface_element(cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode)
{
    const auto &t = *reinterpret_cast<const emu::texture *>(surface);
    const int64_t row = t.width * t.item, last = row - (int64_t)sizeof(T);
    if (x >= 0 && x <= last && y >= 0 && y < t.height) return t.data + y * t.pitch + x;
    if (mode == cudaBoundaryModeTrap) abort();
    if (mode == cudaBoundaryModeZero) return nullptr;
    return t.data + std::clamp<int64_t>(y, 0, t.height - 1) * t.pitch +
           std::clamp<int64_t>(x, 0, last);
}

template <typename T>
T
surf2Dread(cudaSurfaceObject_t surface, int x, int y,
           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    T v = {};
    if (const char *p = emu_surface_element<T>(surface, x, y, mode))
        __builtin_memcpy(&v, p, sizeof v);
    return v;
}

template <typename T>
void
surf2Dread(T *v, cudaSurfaceObject_t surface, int x, int y,
           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    *v = surf2Dread<T>(surface, x, y, mode);
}

template <typename T>
void
surf2Dwrite(T v, cudaSurfaceObject_t surface, int x, int y,
            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    if (char *p = emu_surface_element<T>(surface, x, y, mode))
        __builtin_memcpy(p, &v, sizeof v);
}
