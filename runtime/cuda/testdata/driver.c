// A driver library for tests: device memory is host memory, modules are text,
// and kernels are a few functions known by name. Every call is recorded.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char calls[1 << 20];
static size_t used;
static int current; // is a context current?
static int aborted; // what all work returns once a kernel was aborted
static int destroyed; // the primary context was reset
static int endless; // does a kernel not end?
static int optin_shared; // per function: set by cuFuncSetAttribute

static void record(const char *format, ...) {
  va_list args;
  va_start(args, format);
  used += vsnprintf(calls + used, sizeof calls - used, format, args);
  va_end(args);
}

const char *fake_calls(void) { return calls; }
void fake_clear(void) { used = 0, calls[0] = 0; }
void fake_relaunch(void) { aborted = destroyed = 0; } // as if in a new process

static int failure(void) { return aborted && destroyed ? 709 : aborted; }
#define WORK if (failure()) return failure()

int cuInit(unsigned flags) { record("cuInit(%u)\n", flags); return 0; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }

int cuGetErrorName(int r, const char **s) {
  *s = r == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : r == 101 ? "CUDA_ERROR_INVALID_DEVICE" : r == 218 ? "CUDA_ERROR_INVALID_PTX" :
       r == 500 ? "CUDA_ERROR_NOT_FOUND" : r == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" :
       r == 709 ? "CUDA_ERROR_CONTEXT_IS_DESTROYED" : 0;
  return *s ? 0 : 1;
}
int cuGetErrorString(int r, const char **s) { *s = "a sentence"; return 0; }

int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *dev, int ordinal) { *dev = 7; return ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char *name, int n, int dev) { snprintf(name, n, "Fake GPU %d", dev); return 0; }
int cuDeviceGetAttribute(int *v, int attribute, int dev) {
  *v = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : attribute == 97 ? 232448 : -1;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **ctx, int dev) { record("retain(%d)\n", dev); *ctx = &calls; return aborted; }
int cuDevicePrimaryCtxRelease_v2(int dev) { record("release(%d)\n", dev); return 0; }
int cuDevicePrimaryCtxReset_v2(int dev) { record("reset(%d)\n", dev); destroyed = 1; return 0; }
int cuCtxSetCurrent(void *ctx) { current = ctx == &calls; return current ? 0 : 201; }
int cuCtxSynchronize(void) {
  record("synchronize\n");
  while (endless) pause();
  return failure();
}

struct module { char text[4096]; };

int cuModuleLoadDataEx(struct module **m, const char *image, unsigned n, const unsigned *options, void **values) {
  WORK;
  char *error = 0, *info = 0;
  size_t error_size = 0;
  for (unsigned i = 0; i < n; i++) {
    if (options[i] == 5) error = values[i];
    if (options[i] == 3) info = values[i];
    if (options[i] == 6) error_size = (size_t)values[i];
  }
  record("load(%zu bytes, %u options)\n", strlen(image), n);
  if (strstr(image, "SYNTAX ERROR")) {
    snprintf(error, error_size, "ptxas application ptx input, line 3; fatal   : Parsing error\n");
    return 218;
  }
  strcpy(info, "0 bytes spill\n");
  *m = calloc(1, sizeof **m);
  strncpy((*m)->text, image, 4095);
  return 0;
}
int cuModuleUnload(struct module *m) { record("unload\n"); WORK; free(m); return 0; }
int cuModuleGetFunction(const char **f, struct module *m, const char *name) {
  WORK;
  *f = strstr(m->text, name);
  return *f ? 0 : 500;
}
int cuFuncGetAttribute(int *v, int attribute, const char *f) {
  WORK;
  *v = attribute == 4 ? 40 : attribute == 0 ? 1024 : attribute == 1 ? 16 : 0;
  return 0;
}
int cuFuncSetAttribute(const char *f, int attribute, int v) {
  record("set attribute %d to %d\n", attribute, v);
  WORK;
  optin_shared = v;
  return 0;
}

int cuMemAlloc_v2(uint64_t *p, size_t size) {
  WORK;
  if (size > 1 << 30) return 2;
  *p = (uint64_t)aligned_alloc(256, (size + 255) / 256 * 256);
  record("alloc %zu\n", size);
  return 0;
}
int cuMemFree_v2(uint64_t p) { record("free\n"); WORK; free((void *)p); return 0; }
int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t n) { WORK; memcpy((void *)dst, src, n); return 0; }
int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t n) { WORK; memcpy(dst, (void *)src, n); return 0; }
int cuMemsetD8_v2(uint64_t dst, unsigned char v, size_t n) { WORK; memset((void *)dst, v, n); return 0; }

// Kernels. add: (int *p, int32 n, int32 k) adds k to n elements.
// says: prints. asserts: prints and traps. mute: traps. strays: to no buffer.
// stays: does not end. crashes: the process ends.
int cuLaunchKernel(const char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra) {
  record("launch grid %u,%u,%u block %u,%u,%u shared %u stream %p extra %p\n", gx, gy, gz, bx, by, bz, shared, stream, (void *)extra);
  WORK;
  if (shared > 49152 && shared > (unsigned)optin_shared) return 1;
  if (!strncmp(f, "add", 3)) {
    int32_t *p = *(int32_t **)params[0];
    int32_t n = *(int32_t *)params[1], k = *(int32_t *)params[2];
    for (int i = 0; i < n; i++) p[i] += k;
  } else if (!strncmp(f, "follow", 6)) {
    int32_t **table = *(int32_t ***)params[0];
    *table[1] += 5;
  } else if (!strncmp(f, "says", 4)) {
    printf("hello from block %d\n", 3);
  } else if (!strncmp(f, "asserts", 7)) {
    printf("k.py:3: tile block: [0, 0, 0], position: [2]: n is wrong\n");
    aborted = 719;
  } else if (!strncmp(f, "mute", 4)) {
    aborted = 719;
  } else if (!strncmp(f, "strays", 6)) {
    aborted = 700;
  } else if (!strncmp(f, "stays", 5)) {
    endless = 1;
  } else if (!strncmp(f, "crashes", 7)) {
    _exit(7);
  }
  return 0;
}

int cuEventCreate(void **e, unsigned flags) { static int event; *e = &event; return failure(); }
int cuEventDestroy_v2(void *e) { record("destroy event\n"); return failure(); }
int cuEventRecord(void *e, void *stream) { record("record\n"); return failure(); }
int cuEventSynchronize(void *e) { return failure(); }
int cuEventElapsedTime(float *ms, void *a, void *b) { *ms = 2.5f; return failure(); }
