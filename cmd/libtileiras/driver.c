/* A stand-in for NVIDIA's driver: the functions of the driver API that frontends of Tile IR call, on top of tileiras_load and
 * tileiras_launch. Types and numbers are those of the CUDA Driver API reference. Launches are begun, not waited for; a synchronization waits, and so
 * does all that reads, writes or frees memory. One launch runs at a time, whatever thread or stream it is of. */
#include "tileiras.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int CUresult;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801 };

/* Go's part: driver.go. */
tileiras_handle tileirasDriverLoad(void *image);
int tileirasDriverHas(tileiras_handle program, char *kernel);
int tileirasDriverEnd(tileiras_handle launch, int wait);
int tileirasDriverAttribute(int attribute);

/* A kernel of a library, until that is unloaded. */
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

/* A launch that some thread has begun. It is listed until it has ended well or been freed. */
struct begun {
    tileiras_handle launch;
    struct begun *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct begun *launches; /* the newest first: their handles fall */
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

/* What tileirasDriverEnd says of a launch. */
enum { RUNS, ENDED, FAILED, FREED };

/* unlist forgets the launches that have ended well or been freed; the lock is held. It says whether one of the others runs. */
static int unlist(void) {
    int run = 0;
    for (struct begun **p = &launches; *p;) {
        struct begun *l = *p;
        int end = tileirasDriverEnd(l->launch, 0);
        run |= end == RUNS;
        if (end == RUNS || end == FAILED) {
            p = &l->next;
        } else {
            *p = l->next;
            free(l);
        }
    }
    return run;
}

/* wait_for_launches waits for every launch that has begun, of whatever thread, and says whether one of those that nobody has freed yet failed. */
static CUresult wait_for_launches(void) {
    CUresult status = SUCCESS;
    pthread_mutex_lock(&lock);
    tileiras_handle next = launches ? launches->launch : 0;
    while (next) {
        tileiras_handle l = next;
        pthread_mutex_unlock(&lock);
        if (tileirasDriverEnd(l, 1) == FAILED) status = LAUNCH_FAILED;
        pthread_mutex_lock(&lock);
        next = 0;
        for (struct begun *b = launches; b && !next; b = b->next)
            if (b->launch < l) next = b->launch;
    }
    unlist();
    pthread_mutex_unlock(&lock);
    return status;
}

/* forget_launched waits for the launch that this thread began last, which tileiras_driver_launched still gives out, and frees it: nobody has asked
 * for it. */
static CUresult forget_launched(void) {
    int failed = launched && tileirasDriverEnd(launched, 1) == FAILED, refused = failed && tileiras_status(launched) == TILEIRAS_USAGE;
    if (failed) fprintf(stderr, "tileiras: %s\n", tileiras_error(launched));
    if (launched) tileiras_free(tileiras_driver_launched());
    return refused ? INVALID_VALUE : failed ? LAUNCH_FAILED : SUCCESS;
}

static CUresult unsupported(void) { return NOT_SUPPORTED; }
static CUresult nothing(void) { return SUCCESS; }
static CUresult synchronize(void) { return wait_for_launches(); }
static CUresult quietly(void) { /* events say nothing of the launch before them */
    wait_for_launches();
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

static CUresult device_attribute(int *value, int attribute, int device) {
    *value = tileirasDriverAttribute(attribute);
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

/* An event: when it was recorded, of the clock of this machine. */
struct event {
    struct timespec at;
    int recorded;
};

static CUresult event_create(struct event **event, unsigned flags) {
    *event = calloc(1, sizeof **event);
    return *event ? SUCCESS : OUT_OF_MEMORY;
}
static CUresult event_destroy(struct event *event) {
    free(event);
    return SUCCESS;
}
static CUresult event_record(struct event *event, uint64_t stream) {
    wait_for_launches();
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    event->recorded = 1;
    return SUCCESS;
}
static CUresult event_elapsed(float *ms, const struct event *from, const struct event *to) {
    if (!from->recorded || !to->recorded) return INVALID_HANDLE;
    *ms = (to->at.tv_sec - from->at.tv_sec) * 1e3 + (to->at.tv_nsec - from->at.tv_nsec) / 1e6;
    return SUCCESS;
}

static CUresult memory_allocate(void **pointer, size_t size) {
    if (!size) return INVALID_VALUE;
    struct allocation *a = malloc(sizeof *a);
    if (!a || posix_memalign(&a->data, 256, size)) {
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
    struct allocation *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct allocation **p = &allocations; *p && !found; p = found ? p : &(*p)->next) {
        if ((*p)->data == pointer) {
            found = *p;
            *p = found->next;
        }
    }
    pthread_mutex_unlock(&lock);
    if (!found) return pointer ? INVALID_VALUE : SUCCESS;
    wait_for_launches(); /* a launch that begins from now on knows nothing of it */
    free(found->data);
    free(found);
    return SUCCESS;
}

static CUresult memory_allocate_host(void **pointer, size_t size) {
    if (!size) return INVALID_VALUE;
    *pointer = calloc(1, size);
    return *pointer ? SUCCESS : OUT_OF_MEMORY;
}

static CUresult memory_free_host(void *pointer) {
    wait_for_launches();
    free(pointer);
    return SUCCESS;
}

/* fits says whether size bytes are there: what begins in an allocation of the driver may not leave it; other memory is the host's. */
static int fits(const void *at, size_t size) {
    uintptr_t p = (uintptr_t)at;
    int ok = p || !size;
    pthread_mutex_lock(&lock);
    for (struct allocation *a = allocations; a; a = a->next) {
        uintptr_t start = (uintptr_t)a->data;
        if (p >= start && p - start < a->size) ok = size <= a->size - (p - start);
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

/* Copies and fills, of a stream or not: memory is memory of the process, whoever calls it his. */
static CUresult copy(void *to, const void *from, size_t size) {
    wait_for_launches();
    if (!fits(to, size) || !fits(from, size)) return INVALID_VALUE;
    memmove(to, from, size);
    return SUCCESS;
}
static CUresult fill_bytes(void *to, unsigned char value, size_t n) {
    wait_for_launches();
    if (!fits(to, n)) return INVALID_VALUE;
    memset(to, value, n);
    return SUCCESS;
}
static CUresult fill_words(uint32_t *to, uint32_t value, size_t n) {
    wait_for_launches();
    if (n > SIZE_MAX / 4 || (uintptr_t)to % 4 || !fits(to, n * 4)) return INVALID_VALUE;
    for (size_t i = 0; i < n; i++) to[i] = value;
    return SUCCESS;
}

/* A module is a library: what lies behind the image in the parameters of cuLibraryLoadData are options, of which none means anything here. */
static CUresult library_load(tileiras_handle *library, void *image) {
    *library = tileirasDriverLoad(image);
    return *library ? SUCCESS : INVALID_IMAGE;
}

static CUresult library_unload(tileiras_handle library) {
    wait_for_launches();
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

/* own_memory gives the memory of this thread and all that the driver API has allocated; the lock is held. NULL where there is no room for it. */
static tileiras_region *own_memory(size_t *regions) {
    size_t n = owned;
    for (struct allocation *a = allocations; a; a = a->next) n++;
    tileiras_region *all = malloc((n + 1) * sizeof *all);
    if (!all) return NULL;
    if (owned) memcpy(all, own, owned * sizeof *all);
    n = owned;
    for (struct allocation *a = allocations; a; a = a->next)
        all[n++] = (tileiras_region){"memory of the driver", (uint64_t)(uintptr_t)a->data, a->data, a->size, 0};
    *regions = n;
    return all;
}

/* launch begins a launch when all others have ended. One of which nobody has said what memory it may touch ends before it returns. */
static CUresult launch(struct kernel *k, const uint32_t grid[3], void **params) {
    forget_launched();
    struct begun *b = malloc(sizeof *b);
    if (!b) return OUT_OF_MEMORY;
    for (;;) {
        wait_for_launches();
        pthread_mutex_lock(&lock);
        if (!unlist()) break;
        pthread_mutex_unlock(&lock);
    }
    size_t n;
    tileiras_region *all = own ? own_memory(&n) : process_memory(&n);
    if (!all) {
        pthread_mutex_unlock(&lock);
        free(b);
        return own ? OUT_OF_MEMORY : NOT_SUPPORTED;
    }
    launched = b->launch = tileiras_launch(k->program, k->name, grid, (tileiras_params)params, all, n);
    b->next = launches;
    launches = b;
    pthread_mutex_unlock(&lock);
    free(all);
    return own ? SUCCESS : forget_launched();
}

struct launch_config { /* CUlaunchConfig */
    uint32_t grid[3], block[3], shared;
    void *stream, *attributes;
    uint32_t count;
};

/* launch_ex refuses what no kernel of tiles can have. Its grid and parameters are judged by tileiras_launch. */
static CUresult launch_ex(const struct launch_config *c, struct kernel *k, void **params, void **extra) {
    if (!k || extra || c->block[0] != 1 || c->block[1] != 1 || c->block[2] != 1) return INVALID_VALUE;
    if (c->shared > (uint32_t)tileirasDriverAttribute(97)) return INVALID_VALUE; /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    return launch(k, c->grid, params);
}

static CUresult launch_kernel(struct kernel *k, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared, void *stream,
                              void **params, void **extra) {
    struct launch_config c = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};
    return launch_ex(&c, k, params, extra);
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
    {"cuModuleLoadData", library_load}, {"cuModuleLoadDataEx", library_load}, {"cuModuleUnload", library_unload}, {"cuModuleGetFunction", library_kernel},
    {"cuKernelGetFunction", kernel_function}, {"cuKernelGetAttribute", kernel_attribute}, {"cuKernelSetAttribute", nothing},
    {"cuFuncSetAttribute", nothing}, {"cuLaunchKernel", launch_kernel}, {"cuLaunchKernelEx", launch_ex},
    {"cuMemAlloc", memory_allocate}, {"cuMemFree", memory_free}, {"cuMemAllocHost", memory_allocate_host}, {"cuMemFreeHost", memory_free_host},
    {"cuMemcpy", copy}, {"cuMemcpyAsync", copy}, {"cuMemcpyHtoD", copy}, {"cuMemcpyHtoDAsync", copy}, {"cuMemcpyDtoH", copy}, {"cuMemcpyDtoHAsync", copy},
    {"cuMemcpyDtoD", copy}, {"cuMemcpyDtoDAsync", copy}, {"cuMemsetD8", fill_bytes}, {"cuMemsetD8Async", fill_bytes}, {"cuMemsetD32", fill_words},
    {"cuMemsetD32Async", fill_words}, {"cuPointerGetAttribute", pointer_attribute},
    {"cuStreamCreate", stream_create}, {"cuStreamDestroy", quietly}, {"cuStreamGetCtx", context_of}, {"cuStreamGetId", stream_id},
    {"cuStreamIsCapturing", stream_capturing}, {"cuStreamQuery", synchronize}, {"cuStreamSynchronize", synchronize}, {"cuStreamWaitEvent", quietly},
    {"cuEventCreate", event_create}, {"cuEventDestroy", event_destroy}, {"cuEventRecord", event_record}, {"cuEventQuery", quietly},
    {"cuEventSynchronize", quietly},
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
