/* Launches a kernel from C with the CUDA driver API:
 *
 *   tileiras add.tileir --gpu-name=sm_80 -o add.ptx --metadata=add.json
 *   cc launch.c -lcuda -o launch && ./launch add.ptx
 *
 * What add.json says of the kernel stands below as constants: blocks_per_tile and block are numbers that do not change as long as the
 * kernel is not compiled again. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BLOCK = 128,         /* kernels[0].block[0] */
    BLOCKS_PER_TILE = 1, /* kernels[0].blocks_per_tile[0] */
    SHARED_DYNAMIC = 0,  /* kernels[0].shared_dynamic */
    TILE = 256,          /* elements of a tile block: add.tileir says so */
    N = 1000
};

static void check(CUresult status, const char *what) {
    if (status != CUDA_SUCCESS) {
        fprintf(stderr, "%s: CUDA error %d\n", what, status);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

int main(int argc, char **argv) {
    static char ptx[1 << 20];
    FILE *f = fopen(argv[argc - 1], "rb");
    if (!f || fread(ptx, 1, sizeof ptx - 1, f) == 0) {
        fprintf(stderr, "usage: %s add.ptx\n", argv[0]);
        return 1;
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    if (SHARED_DYNAMIC > 48 << 10)
        CHECK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED_DYNAMIC));

    static float a[N], b[N], c[N];
    CUdeviceptr pa, pb, pc;
    for (int i = 0; i < N; i++)
        a[i] = i, b[i] = 0.5f;
    CHECK(cuMemAlloc(&pa, sizeof a));
    CHECK(cuMemAlloc(&pb, sizeof b));
    CHECK(cuMemAlloc(&pc, sizeof c));
    CHECK(cuMemcpyHtoD(pa, a, sizeof a));
    CHECK(cuMemcpyHtoD(pb, b, sizeof b));

    int n = N;
    void *params[] = {&pa, &pb, &pc, &n};
    CHECK(cuLaunchKernel(add, (N + TILE - 1) / TILE * BLOCKS_PER_TILE, 1, 1, BLOCK, 1, 1, SHARED_DYNAMIC, NULL, params, NULL));
    CHECK(cuMemcpyDtoH(c, pc, sizeof c));
    for (int i = 0; i < N; i++)
        if (c[i] != i + 0.5f) {
            puts("wrong");
            return 1;
        }
    puts("ok");
    return 0;
}
