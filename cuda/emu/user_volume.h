// user_volume.h -- memory of three dimensions: pitched, and arrays of CUDA's with depth, layers or the
// faces of cubes; copies of boxes of it; textures and surfaces over such arrays.
#pragma once
#include "emu/user_texture.h"

struct cudaExtent {
    size_t width, height, depth; // elements of an array, else bytes by rows by slices
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};

inline cudaExtent
make_cudaExtent(size_t width, size_t height, size_t depth)
{
    return {width, height, depth};
}

inline cudaPos
make_cudaPos(size_t x, size_t y, size_t z)
{
    return {x, y, z};
}

inline cudaPitchedPtr
make_cudaPitchedPtr(void *p, size_t pitch, size_t width, size_t height)
{
    return {p, pitch, width, height};
}

inline cudaError_t
cudaMalloc3D(cudaPitchedPtr *made, cudaExtent of)
{
    *made = {nullptr, (of.width + 511) / 512 * 512, of.width, of.height};
    return cudaMalloc(&made->ptr, made->pitch * of.height * of.depth);
}

inline cudaError_t
cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent of)
{
    for (size_t row = 0; row < of.depth * to.ysize; row++)
        if (row % to.ysize < of.height)
            if (const cudaError_t e =
                    cudaMemset(static_cast<char *>(to.ptr) + row * to.pitch, value, of.width))
                return e;
    return cudaSuccess;
}

// Depth 0: no third dimension. Of layers, and of cubes six times as many, depth says how many.
inline cudaError_t
cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *of, cudaExtent size,
                  unsigned flags = 0)
{
    const bool cubes = flags & cudaArrayCubemap;
    if (cubes && (size.width != size.height || size.depth == 0 || size.depth % 6 ||
                  (size.depth != 6 && !(flags & cudaArrayLayered))))
        return emu::note(cudaErrorInvalidValue);
    return emu::make_array(array, *of, size.width, size.height, size.depth, flags);
}

inline cudaError_t
cudaArrayGetInfo(cudaChannelFormatDesc *of, cudaExtent *size, unsigned *flags,
                 cudaArray_t array)
{
    if (of) *of = array->of;
    if (size) *size = {array->width, array->height, array->depth};
    if (flags) *flags = array->flags;
    return emu::note(cudaSuccess);
}

namespace emu
{

struct box_side { // where a copy begins, and how far apart its rows and slices are
    char *first;
    size_t row, slice;
};

inline bool // false: more than there is
find_side(const cudaArray *array, const cudaPitchedPtr &p, const cudaPos &at,
          const cudaExtent &box, size_t width, box_side *side)
{
    if (array == nullptr) {
        side->row = p.pitch;
        side->slice = p.pitch * std::max(p.ysize, box.height);
        side->first = static_cast<char *>(p.ptr) + at.z * side->slice + at.y * side->row + at.x;
        return p.ptr != nullptr && width <= p.pitch;
    }
    side->row = array->width * array->item;
    side->slice = side->row * std::max<size_t>(array->height, 1);
    side->first = array->data + at.z * side->slice + at.y * side->row + at.x * array->item;
    return at.x * array->item + width <= side->row &&
           at.y + box.height <= std::max<size_t>(array->height, 1) &&
           at.z + box.depth <= std::max<size_t>(array->depth, 1);
}

inline cudaError_t
copy_box(const cudaMemcpy3DParms &p, cudaStream_t stream)
{
    const cudaArray *one = p.srcArray ? p.srcArray : p.dstArray; // counts in its elements
    const size_t width = p.extent.width * (one ? one->item : 1);
    box_side from, to;
    if ((p.srcArray && p.srcPtr.ptr) || (p.dstArray && p.dstPtr.ptr) ||
        !find_side(p.srcArray, p.srcPtr, p.srcPos, p.extent, width, &from) ||
        !find_side(p.dstArray, p.dstPtr, p.dstPos, p.extent, width, &to))
        return cudaErrorInvalidValue;
    for (size_t z = 0; z < p.extent.depth; z++)
        if (const cudaError_t e =
                cudaMemcpy2DAsync(to.first + z * to.slice, to.row, from.first + z * from.slice,
                                  from.row, width, p.extent.height, p.kind, stream))
            return e;
    return cudaSuccess;
}

inline texture
layer_of(cudaTextureObject_t object, int layer)
{
    texture t = *reinterpret_cast<const texture *>(object);
    t.data += std::clamp<int64_t>(layer, 0, t.depth - 1) * t.pitch * t.height;
    return t;
}

// Which face a direction goes to, and where there: from 0 to 1.
inline int
face_of(float x, float y, float z, float *u, float *v)
{
    const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    int face;
    float m, s, t;
    if (ax >= ay && ax >= az) {
        face = x >= 0 ? 0 : 1, m = ax, s = x >= 0 ? -z : z, t = -y;
    } else if (ay >= az) {
        face = y >= 0 ? 2 : 3, m = ay, s = x, t = y >= 0 ? z : -z;
    } else {
        face = z >= 0 ? 4 : 5, m = az, s = z >= 0 ? x : -x, t = -y;
    }
    *u = (s / m + 1) / 2;
    *v = (t / m + 1) / 2;
    return face;
}

template <typename T>
T
fetch_volume(const texture &t, float x, float y, float z)
{
    if (t.how.normalizedCoords) z *= (float)t.depth;
    using kind = warpkit::kind_of<T>;
    const auto slice = [&](int64_t k) {
        if (k < 0) return T{};
        texture one = t;
        one.data += k * t.pitch * t.height;
        return fetch<T>(one, x, y, true);
    };
    if constexpr (kind::code == 'f' && sizeof(T) == kind::lanes * sizeof(float))
        if (t.how.filterMode == cudaFilterModeLinear) {
            const neighbours k(t, z, t.depth, 2);
            float a[kind::lanes], b[kind::lanes];
            const T near = slice(k.at[0]), far = slice(k.at[1]);
            __builtin_memcpy(a, &near, sizeof a);
            __builtin_memcpy(b, &far, sizeof b);
            for (int c = 0; c < kind::lanes; c++)
                a[c] = a[c] * k.weight(0) + b[c] * k.weight(1);
            return of_channels<T>(a);
        }
    return slice(t.inside((int64_t)floorf(z), t.depth, 2));
}

} // namespace emu

inline cudaError_t
cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream = nullptr)
{
    return emu::note(
        emu::in_stream(stream, cudaGraphNodeTypeMemcpy,
                       [all = *p](cudaStream_t s) { return emu::copy_box(all, s); }));
}

inline cudaError_t
cudaMemcpy3D(const cudaMemcpy3DParms *p)
{
    const cudaError_t e = emu::note(emu::copy_box(*p, nullptr));
    return e ? e : cudaStreamSynchronize(nullptr);
}

template <typename T>
T
tex3D(cudaTextureObject_t object, float x, float y, float z)
{
    return emu::fetch_volume<T>(*reinterpret_cast<const emu::texture *>(object), x, y, z);
}

template <typename T>
T
tex1DLayered(cudaTextureObject_t object, float x, int layer)
{
    return emu::fetch<T>(emu::layer_of(object, layer), x, 0, false);
}

template <typename T>
T
tex2DLayered(cudaTextureObject_t object, float x, float y, int layer)
{
    return emu::fetch<T>(emu::layer_of(object, layer), x, y, true);
}

template <typename T>
T
texCubemapLayered(cudaTextureObject_t object, float x, float y, float z, int layer)
{
    float u, v;
    const int face = emu::face_of(x, y, z, &u, &v);
    emu::texture t = emu::layer_of(object, 6 * layer + face);
    t.how.normalizedCoords = 1; // as they are
    t.how.addressMode[0] = t.how.addressMode[1] = cudaAddressModeClamp;
    return emu::fetch<T>(t, u, v, true);
}

template <typename T>
T
texCubemap(cudaTextureObject_t object, float x, float y, float z)
{
    return texCubemapLayered<T>(object, x, y, z, 0);
}

template <typename T>
char *
emu_surface_element(cudaSurfaceObject_t surface, int x, int y, int z,
                    cudaSurfaceBoundaryMode mode)
{
    emu::texture t = *reinterpret_cast<const emu::texture *>(surface);
    if (z < 0 || z >= t.depth) {
        if (mode == cudaBoundaryModeTrap) abort();
        if (mode == cudaBoundaryModeZero) return nullptr;
    }
    t.data += std::clamp<int64_t>(z, 0, t.depth - 1) * t.pitch * t.height;
    return emu_surface_element<T>(reinterpret_cast<cudaSurfaceObject_t>(&t), x, y, mode);
}

#define EMU_SURFACE(name)                                                                      \
    template <typename T>                                                                      \
    T name##read(cudaSurfaceObject_t surface, int x, int y, int z,                             \
                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                          \
    {                                                                                          \
        T v = {};                                                                              \
        if (const char *p = emu_surface_element<T>(surface, x, y, z, mode))                    \
            __builtin_memcpy(&v, p, sizeof v);                                                 \
        return v;                                                                              \
    }                                                                                          \
    template <typename T>                                                                      \
    void name##read(T *v, cudaSurfaceObject_t surface, int x, int y, int z,                    \
                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                       \
    {                                                                                          \
        *v = name##read<T>(surface, x, y, z, mode);                                            \
    }                                                                                          \
    template <typename T>                                                                      \
    void name##write(T v, cudaSurfaceObject_t surface, int x, int y, int z,                    \
                     cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                      \
    {                                                                                          \
        if (char *p = emu_surface_element<T>(surface, x, y, z, mode))                          \
            __builtin_memcpy(p, &v, sizeof v);                                                 \
    }
EMU_SURFACE(surf3D)
EMU_SURFACE(surf2DLayered)
EMU_SURFACE(surfCubemap) // z: the face
#undef EMU_SURFACE
