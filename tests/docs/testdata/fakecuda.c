/* A CUDA driver for tests: memory is host memory, and the one kernel it knows is add of examples/launch, of which it checks that it is
 * launched as its PTX says (.reqntid, four parameters). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *image;
static int current;

int cuInit(unsigned flags) { return flags != 0; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuGetErrorName(int r, const char **s) { *s = r ? "CUDA_ERROR" : "CUDA_SUCCESS"; return 0; }
int cuGetErrorString(int r, const char **s) { return cuGetErrorName(r, s); }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int ordinal) { *d = 3; return ordinal != 0; }
int cuDeviceGetName(char *s, int n, int d) { snprintf(s, n, "fake %d", d); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { (void)d; *v = a == 75 ? 9 : a == 97 ? 232448 : 0; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &current; return d != 3; }
int cuDevicePrimaryCtxRelease_v2(int d) { return d != 3; }
int cuDevicePrimaryCtxReset_v2(int d) { return d != 3; }
int cuCtxSetCurrent(void *c) { current = c == &current; return !current; }
int cuCtxSynchronize(void) { return !current; }
int cuModuleLoadData(void **m, const void *data) {
    image = strdup(data);
    *m = &image;
    return !current || strncmp(image, "// PTX", 6) != 0;
}
int cuModuleLoadDataEx(void **m, const void *data, unsigned n, void *o, void *v) { (void)n, (void)o, (void)v; return cuModuleLoadData(m, data); }
int cuModuleUnload(void *m) { return m != &image; }
int cuModuleGetFunction(void **f, void *m, const char *name) {
    char entry[100];
    snprintf(entry, sizeof entry, ".visible .entry %s(", name);
    *f = m == &image ? strstr(image, entry) : NULL;
    return *f ? 0 : 500;
}
int cuFuncGetAttribute(int *v, int a, void *f) { (void)a, (void)f; *v = 0; return 0; }
int cuFuncSetAttribute(void *f, int a, int v) { (void)f; return a != 8 || v <= 48 << 10; }
int cuMemAlloc_v2(uint64_t *p, size_t n) { *p = (uint64_t)malloc(n); return !current; }
int cuMemFree_v2(uint64_t p) { free((void *)p); return 0; }
int cuMemcpyHtoD_v2(uint64_t d, const void *s, size_t n) { memcpy((void *)d, s, n); return 0; }
int cuMemcpyDtoH_v2(void *d, uint64_t s, size_t n) { memcpy(d, (void *)s, n); return 0; }
int cuMemsetD8_v2(uint64_t d, unsigned char v, size_t n) { memset((void *)d, v, n); return 0; }
int cuEventCreate(void **e, unsigned f) { (void)f; *e = &current; return 0; }
int cuEventDestroy_v2(void *e) { (void)e; return 0; }
int cuEventRecord(void *e, void *s) { (void)e, (void)s; return 0; }
int cuEventSynchronize(void *e) { (void)e; return 0; }
int cuEventElapsedTime(float *ms, void *a, void *b) { (void)a, (void)b; *ms = 1; return 0; }

int cuLaunchKernel(const char *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **params, void **extra) {
    const char *bound = strstr(f, ".reqntid ");
    int count = 0;
    for (const char *p = f; p && p < strchr(f, ')'); p = strstr(p + 1, ".param "))
        count++;
    if (!current || !bound || (unsigned)atoi(bound + 9) != bx || by != 1 || bz != 1 || gy != 1 || gz != 1 || shared != 0 || stream || extra || count != 5)
        return 1;
    float *a = *(float **)params[0], *b = *(float **)params[1], *c = *(float **)params[2];
    int n = *(int *)params[3];
    for (unsigned i = 0; i < gx * 256 && i < (unsigned)n; i++)
        c[i] = a[i] + b[i];
    return 0;
}
