/* A stand-in for NVIDIA's driver: the functions of the driver API that frontends of Tile IR call, on top of tileiras_load and
 * tileiras_launch. Types and numbers are those of the CUDA Driver API reference. Launches are begun, not waited for; a synchronization waits. */
#include "tileiras.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, NOT_FOUND = 500, NOT_READY = 600, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801 };

/* Go's part: driver.go. */
tileiras_handle tileirasDriverLoad(void *image);
int tileirasDriverHas(tileiras_handle program, char *kernel);
void tileirasDriverCapability(int *major, int *minor);

/* A kernel of a library; it is never freed, because launches may still name it. */
struct kernel {
    tileiras_handle program;
    char *name;
    struct kernel *next;
};

struct allocation {
    void *data;
    size_t size;
    struct allocation *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kernel *kernels;
static struct allocation *allocations;
static uint64_t streams = 16; /* ids of streams; small ones are the default streams */
static char context;

static _Thread_local const tileiras_region *own;
static _Thread_local size_t owned;
static _Thread_local tileiras_handle launched;

void tileiras_driver_memory(tileiras_memory memory, size_t regions) {
    own = memory;
    owned = regions;
}

tileiras_handle tileiras_driver_launched(void) {
    tileiras_handle h = launched;
    launched = 0;
    return h;
}

/* wait_for_launched waits for the launch that this thread began last, which tileiras_driver_launched still gives out. */
static CUresult wait_for_launched(void) {
    return !launched || tileiras_status(launched) == TILEIRAS_OK ? SUCCESS : LAUNCH_FAILED;
}

/* forget_launched waits for it and frees it: nobody has asked for it. */
static CUresult forget_launched(void) {
    CUresult status = wait_for_launched();
    if (status != SUCCESS) fprintf(stderr, "tileiras: %s\n", tileiras_error(launched));
    if (launched) tileiras_free(tileiras_driver_launched());
    return status;
}

static CUresult unsupported(void) { return NOT_SUPPORTED; }
static CUresult nothing(void) { return SUCCESS; }
static CUresult synchronize(void) { return wait_for_launched(); }
static CUresult quietly(void) { /* events say nothing of the launch before them */
    wait_for_launched();
    return SUCCESS;
}

static CUresult driver_version(int *v) {
    *v = 13040;
    return SUCCESS;
}

static CUresult error_string(CUresult code, const char **text) {
    switch (code) {
    case SUCCESS: *text = "no error"; break;
    case INVALID_VALUE: *text = "invalid argument"; break;
    case OUT_OF_MEMORY: *text = "out of memory"; break;
    case INVALID_IMAGE: *text = "the image is no program of tileiras, or cannot be loaded"; break;
    case NOT_FOUND: *text = "the program has no kernel of this name"; break;
    case LAUNCH_FAILED: *text = "the kernel failed"; break;
    default: *text = "tileiras runs kernels without a GPU and does not support this function of the driver"; break;
    }
    return SUCCESS;
}

static CUresult device_count(int *n) {
    *n = 1;
    return SUCCESS;
}

static CUresult device_get(int *device, int ordinal) {
    *device = 0;
    return ordinal == 0 ? SUCCESS : INVALID_VALUE;
}

/* The attributes (CUdevice_attribute) that frontends ask for. */
static CUresult device_attribute(int *value, int attribute, int device) {
    int major, minor;
    tileirasDriverCapability(&major, &minor);
    switch (attribute) {
    case 1: *value = 1024; break;                            /* MAX_THREADS_PER_BLOCK */
    case 5: *value = 2147483647; break;                      /* MAX_GRID_DIM_X */
    case 6: case 7: *value = 65535; break;                   /* MAX_GRID_DIM_Y, Z */
    case 8: *value = 49152; break;                           /* MAX_SHARED_MEMORY_PER_BLOCK */
    case 10: *value = 32; break;                             /* WARP_SIZE */
    case 16: *value = 8; break;                              /* MULTIPROCESSOR_COUNT */
    case 38: *value = 1 << 20; break;                        /* L2_CACHE_SIZE */
    case 75: *value = major; break;                          /* COMPUTE_CAPABILITY_MAJOR */
    case 76: *value = minor; break;                          /* COMPUTE_CAPABILITY_MINOR */
    case 97: *value = 232448; break;                         /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    default: *value = 0;
    }
    return SUCCESS;
}

static CUresult context_get(void **c) {
    *c = &context;
    return SUCCESS;
}
static CUresult context_of(void *what, void **c) { return context_get(c); }
static CUresult context_id(void *c, unsigned long long *id) {
    *id = 1;
    return SUCCESS;
}
static CUresult context_device(int *device) {
    *device = 0;
    return SUCCESS;
}
static CUresult context_device_of(int *device, void *c) { return context_device(device); }
static CUresult primary_retain(void **c, int device) { return context_get(c); }

static CUresult pointer_attribute(void *value, int attribute, uint64_t pointer) {
    if (attribute != 1) return NOT_SUPPORTED; /* CONTEXT */
    return context_get(value);
}

static CUresult stream_create(uint64_t *stream, unsigned flags) {
    pthread_mutex_lock(&lock);
    *stream = ++streams;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
static CUresult stream_id(uint64_t stream, unsigned long long *id) {
    *id = stream;
    return SUCCESS;
}
static CUresult stream_capturing(uint64_t stream, int *status) {
    *status = 0;
    return SUCCESS;
}
static CUresult event_create(void **event, unsigned flags) { return context_get(event); }
static CUresult event_elapsed(float *ms, void *from, void *to) {
    *ms = 0;
    return SUCCESS;
}

static CUresult memory_allocate(void **pointer, size_t size) {
    struct allocation *a = malloc(sizeof *a);
    if (!a || posix_memalign(&a->data, 256, size ? size : 1)) {
        free(a);
        return OUT_OF_MEMORY;
    }
    memset(a->data, 0, size);
    a->size = size;
    pthread_mutex_lock(&lock);
    a->next = allocations;
    allocations = a;
    pthread_mutex_unlock(&lock);
    *pointer = a->data;
    return SUCCESS;
}

static CUresult memory_free(void *pointer) {
    CUresult status = pointer ? INVALID_VALUE : SUCCESS;
    wait_for_launched();
    pthread_mutex_lock(&lock);
    for (struct allocation **p = &allocations; *p; p = &(*p)->next) {
        if ((*p)->data == pointer) {
            struct allocation *a = *p;
            *p = a->next;
            free(a->data);
            free(a);
            status = SUCCESS;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static CUresult memory_allocate_host(void **pointer, size_t size) {
    *pointer = calloc(1, size ? size : 1);
    return *pointer ? SUCCESS : OUT_OF_MEMORY;
}

static CUresult memory_free_host(void *pointer) {
    free(pointer);
    return SUCCESS;
}

static CUresult copy_to_device(void *to, const void *from, size_t size, uint64_t stream) {
    wait_for_launched();
    memcpy(to, from, size);
    return SUCCESS;
}

static CUresult library_load(tileiras_handle *library, void *image, void *a, void *b, unsigned n, void *c, void *d, unsigned m) {
    *library = tileirasDriverLoad(image);
    return *library ? SUCCESS : INVALID_IMAGE;
}

static CUresult library_unload(tileiras_handle library) {
    wait_for_launched();
    tileiras_free(library);
    pthread_mutex_lock(&lock);
    for (struct kernel **p = &kernels; *p;) {
        struct kernel *k = *p;
        if (k->program == library) {
            *p = k->next;
            free(k->name);
            free(k);
        } else {
            p = &k->next;
        }
    }
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

static CUresult library_kernel(struct kernel **kernel, tileiras_handle library, char *name) {
    if (!tileirasDriverHas(library, name)) return NOT_FOUND;
    struct kernel *k = malloc(sizeof *k);
    if (!k || !(k->name = strdup(name))) {
        free(k);
        return OUT_OF_MEMORY;
    }
    k->program = library;
    pthread_mutex_lock(&lock);
    k->next = kernels;
    kernels = k;
    pthread_mutex_unlock(&lock);
    *kernel = k;
    return SUCCESS;
}

static CUresult kernel_function(void **function, void *kernel) {
    *function = kernel;
    return SUCCESS;
}
static CUresult kernel_attribute(int *value, int attribute, void *kernel, int device) {
    *value = 0;
    return SUCCESS;
}

/* process_memory gives the memory that this process may write, for hosts that do not say what memory a kernel may touch: bounds are then those of
 * what the system has mapped. NULL where the system does not tell. */
static tileiras_region *process_memory(size_t *regions) {
    *regions = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    if (!f) return NULL;
    tileiras_region *all = NULL;
    size_t n = 0;
    char line[4096];
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        char mode[5];
        if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) != 3 || mode[0] != 'r' || mode[1] != 'w') continue;
        if (n && all[n - 1].address + all[n - 1].size == from) {
            all[n - 1].size += to - from;
            continue;
        }
        tileiras_region *more = realloc(all, (n + 1) * sizeof *all);
        if (!more) break;
        all = more;
        all[n++] = (tileiras_region){"memory of the process", from, (void *)from, to - from, 0};
    }
    fclose(f);
    *regions = n;
    return all;
}

/* launch_anywhere launches a kernel of which nobody has said what memory it may touch, and waits for its end. */
static CUresult launch_anywhere(struct kernel *k, const uint32_t grid[3], void **params) {
    size_t n;
    tileiras_region *all = process_memory(&n);
    if (!all) return NOT_SUPPORTED;
    launched = tileiras_launch(k->program, k->name, grid, (tileiras_params)params, all, n);
    free(all);
    return forget_launched();
}

/* launch begins a launch on the memory of this thread and all that the driver API has allocated. */
static CUresult launch(struct kernel *k, const uint32_t grid[3], void **params) {
    forget_launched();
    if (!own) return launch_anywhere(k, grid, params);
    pthread_mutex_lock(&lock);
    size_t n = owned;
    for (struct allocation *a = allocations; a; a = a->next) n++;
    tileiras_region *all = malloc((n + 1) * sizeof *all);
    if (!all) {
        pthread_mutex_unlock(&lock);
        return OUT_OF_MEMORY;
    }
    if (owned) memcpy(all, own, owned * sizeof *all);
    n = owned;
    for (struct allocation *a = allocations; a; a = a->next)
        all[n++] = (tileiras_region){"memory of the driver", (uint64_t)(uintptr_t)a->data, a->data, a->size, 0};
    pthread_mutex_unlock(&lock);
    launched = tileiras_launch(k->program, k->name, grid, (tileiras_params)params, all, n);
    free(all);
    return SUCCESS;
}

struct launch_config { /* CUlaunchConfig */
    uint32_t grid[3], block[3], shared;
    void *stream, *attributes;
    uint32_t count;
};

static CUresult launch_ex(const struct launch_config *c, struct kernel *k, void **params, void **extra) {
    if (!k || extra) return INVALID_VALUE;
    return launch(k, c->grid, params);
}

static CUresult launch_kernel(struct kernel *k, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared, void *stream,
                              void **params, void **extra) {
    if (!k || extra) return INVALID_VALUE;
    uint32_t grid[3] = {gx, gy, gz};
    return launch(k, grid, params);
}

/* The functions by name, sorted as the reference has them. What is not here answers that it is not supported. */
static const struct {
    const char *name;
    void *function;
} functions[] = {
    {"cuInit", nothing}, {"cuDriverGetVersion", driver_version}, {"cuGetErrorString", error_string},
    {"cuDeviceGet", device_get}, {"cuDeviceGetCount", device_count}, {"cuDeviceGetAttribute", device_attribute},
    {"cuDevicePrimaryCtxRetain", primary_retain}, {"cuCtxGetCurrent", context_get}, {"cuCtxSetCurrent", nothing}, {"cuCtxPushCurrent", nothing},
    {"cuCtxPopCurrent", context_get}, {"cuCtxGetDevice", context_device}, {"cuCtxGetId", context_id}, {"cuCtxSynchronize", synchronize},
    {"cuLibraryLoadData", library_load}, {"cuLibraryUnload", library_unload}, {"cuLibraryGetKernel", library_kernel},
    {"cuKernelGetFunction", kernel_function}, {"cuKernelGetAttribute", kernel_attribute}, {"cuKernelSetAttribute", nothing},
    {"cuLaunchKernel", launch_kernel}, {"cuLaunchKernelEx", launch_ex},
    {"cuMemAlloc", memory_allocate}, {"cuMemFree", memory_free}, {"cuMemAllocHost", memory_allocate_host}, {"cuMemFreeHost", memory_free_host},
    {"cuMemcpyHtoDAsync", copy_to_device}, {"cuPointerGetAttribute", pointer_attribute},
    {"cuStreamCreate", stream_create}, {"cuStreamDestroy", quietly}, {"cuStreamGetCtx", context_of}, {"cuStreamGetId", stream_id},
    {"cuStreamIsCapturing", stream_capturing}, {"cuStreamSynchronize", synchronize}, {"cuStreamWaitEvent", quietly},
    {"cuEventCreate", event_create}, {"cuEventDestroy", nothing}, {"cuEventRecord", quietly}, {"cuEventQuery", quietly},
    {"cuEventElapsedTime", event_elapsed},
};

static CUresult get_proc_address(const char *name, void **function, int version, uint64_t flags, int *found) {
    if (found) *found = 0;
    if (!strcmp(name, "cuCtxGetDevice") && version >= 13000) {
        *function = context_device_of;
        return SUCCESS;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!strcmp(functions[i].name, name)) {
            *function = functions[i].function;
            return SUCCESS;
        }
    }
    *function = unsupported;
    return SUCCESS;
}

void *tileiras_proc_address(void) { return get_proc_address; }
