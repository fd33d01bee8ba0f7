/* tileiras.h: the compiler from CUDA Tile IR to PTX and cubins as a C library. `make lib` builds libtileiras.so (.dylib, .dll) and puts this
 * header beside it; docs/library.md has examples.
 *
 * Objects are handles: numbers that the library gives out and never gives out again, so that one that is used after it was freed is
 * refused. 0 is no object. Every function may be called from any thread at any time; the one thing that callers must not do is free a
 * result while another thread still reads what it points to.
 *
 * What a function returns by pointer belongs to the object that it was asked of, does not change, and lives until that object is
 * freed. Texts are UTF-8 and end in a zero byte. What is given to a function is only read, and only until the function returns.
 *
 * The library has the Go runtime in it: it makes threads of its own and, when it is loaded, handlers for SIGBUS, SIGFPE, SIGSEGV, SIGPIPE and
 * SIGURG. For a signal that is not of Go code a handler that was there before is called. Do not call it in a child of fork that has not
 * called exec. */
#ifndef TILEIRAS_H
#define TILEIRAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It goes up when a function changes what it does or goes; functions and option names that come
 * later do not change it. tileiras_abi says what the library has. */
#define TILEIRAS_ABI 2

typedef uint64_t tileiras_handle;
typedef const char *tileiras_text;
typedef const void *tileiras_data;

/* What tileiras_status and tileiras_set return: 0, or the exit code that the command has. */
enum tileiras_code {
    TILEIRAS_OK = 0,
    TILEIRAS_USAGE = 1,        /* an option or a value that does not exist; a handle that is none of the right kind */
    TILEIRAS_OPTIONS = 2,      /* options that do not fit together */
    TILEIRAS_INPUT = 3,        /* the input is not acceptable */
    TILEIRAS_UNSUPPORTED = 5,  /* it cannot be compiled, or was canceled, or reached a limit: see the diagnostics */
    TILEIRAS_FAULT = 6,        /* of a launch: the kernel did something wrong, see the part "fault" */
    TILEIRAS_BUG = 70          /* a fault of the compiler */
};

int tileiras_abi(void);

/* Names the build. Two builds that may give different output have different names. */
tileiras_text tileiras_build(void);

/* Options. A new object has the defaults. Names and values are texts:
 *
 *   gpu               sm_90, or native for that of this machine
 *   emit              ptx (default), cudatile, bytecode, tileaa, llvm, cubin: the level at which to stop
 *   abi               cuda, tile: launch convention; cuda is the default of ptx, tile that of a cubin
 *   opt               0, 1, 2, 3 (default): optimization level
 *   name              of the source, in diagnostics
 *   lineinfo          0 (default), 1: source lines in PTX and cubins
 *   roles             auto (default), on, off: warps of their own that begin the copies of loops
 *   tf32              rounded (default), truncated: how f32 becomes the tf32 that products multiply by
 *   tma               0 (default), 1: copies to shared memory take tensor maps, where they can: from sm_90 on
 *   slices_k          1, 2 or 4 slices along K in which warps share products; 0 (default) is as many as cost least
 *   max_ptx           8.4: code that needs a later version of PTX is an error
 *   max_shared        bytes of shared memory that a thread block may have; 0 (default) is what the GPU has
 *   ptxas             NVIDIA's ptxas, for emit=cubin; without it it is looked for
 *   sanitize          0 (default), 1: have ptxas instrument a cubin for compute-sanitizer
 *   remarks           0 (default), 1: collect remarks
 *   bytecode_version  13.3, of emit=bytecode
 *   stop_after        the pass after which to stop, with its module as the output
 *   cache             a folder, or the http:// URL of a server of Bazel's remote cache protocol
 *   cache_patience    seconds that such a server may do nothing, 0.2 (default), before it is not asked for a while
 *   time_limit        seconds that a compile may take, 2.5
 *   memory_limit      bytes of modules that it may hold, about
 *   reproducer_dir    the folder where a fault of the compiler leaves its input; without it nowhere
 *
 * and, for programs that run on this machine:
 *
 *   engine            interp (default), emu: the interpreter of Tile IR, or our PTX on the emulator
 *   checks            all (default), none, or some of races, undefined, alignment with commas between; bounds are always checked
 *   undefined         error (default), zero: what the interpreter loads where a program names no padding
 *   equal_stores      0 (default), 1: unordered stores of equal values are no race
 *   workers           tile blocks that may run at once, where the checks allow it; 0 (default) is one
 *
 * tileiras_set returns TILEIRAS_USAGE, and changes nothing, for a name that does not exist, for what is none of the numbers or seconds that it
 * asks for, and for a value that an option of programs cannot be. All other values are judged by tileiras_compile and tileiras_load, whose
 * diagnostics say what they can be. */
tileiras_handle tileiras_options_new(void);
int tileiras_set(tileiras_handle options, tileiras_text name, tileiras_text value);

/* A token by which any thread can end the compiles that were given it, within 10 ms. */
tileiras_handle tileiras_cancel_new(void);
void tileiras_cancel(tileiras_handle token);

/* Compiles size bytes of Tile IR, bytecode or text. Options may be changed and freed, and the token freed, while it runs. options and
 * cancel may be 0. The result is never 0: what went wrong is in it. */
tileiras_handle tileiras_compile(tileiras_data source, size_t size, tileiras_handle options, tileiras_handle cancel);

/* The parts of a result. size may be NULL; a zero byte follows the output. Without an error tileiras_error is ""; of no handle the
 * pointers are NULL. */
int tileiras_status(tileiras_handle result);
tileiras_data tileiras_output(tileiras_handle result, size_t *size);
tileiras_text tileiras_error(tileiras_handle result);

/* A part as JSON: "diagnostics" (errors, or the warnings of a compile that went well), "metadata" (how to launch the kernels:
 * docs/launch.md; null of what is neither PTX nor a cubin) or "remarks" (what was chosen and why, when the option asks for it). NULL for another name. */
tileiras_text tileiras_json(tileiras_handle result, tileiras_text part);

/* The page for each kernel of a result whose options asked for remarks. */
tileiras_text tileiras_explain(tileiras_handle result);

/* Kernels without a GPU. A program is a module made ready for the engine that the options name; it has a status, an error and the parts
 * "kernels" and "diagnostics", and serves any number of launches. Limits and the token are those of a compile. */
tileiras_handle tileiras_load(tileiras_data source, size_t size, tileiras_handle options, tileiras_handle cancel);

/* Memory that a kernel may touch: size bytes at data, which the kernel knows by an address, as a rule that of data. */
typedef struct {
    tileiras_text name; /* for messages; may be NULL */
    uint64_t address;
    void *data;
    uint64_t size;
    uint64_t read_only; /* not 0: a store to it is a fault */
} tileiras_region;

typedef const uint32_t *tileiras_grid;
typedef const tileiras_data *tileiras_params;
typedef const tileiras_region *tileiras_memory;

/* Begins a launch of grid[0] x grid[1] x grid[2] tile blocks and returns at once. params has a pointer to the value of each parameter, as
 * the driver API takes them; they are copied. Regions may not overlap, are not copied, and must stay until the launch has ended. */
tileiras_handle tileiras_launch(tileiras_handle program, tileiras_text kernel, tileiras_grid grid, tileiras_params params, tileiras_memory memory,
                                size_t regions);

/* Waits until a launch has ended, but not longer than so many milliseconds (negative: for ever): 1 when it has ended, 0 when not, -1 for no handle of
 * a launch. tileiras_cancel takes a launch too. tileiras_status, tileiras_error and tileiras_json of a launch wait for its end, and so does tileiras_free. */
int tileiras_wait(tileiras_handle launch, int milliseconds);

/* How many tile blocks have ended, and of how many, while a launch runs or afterwards. The parts of a launch are "fault" (null, or what the kernel
 * did wrong and where) and "counters". */
int64_t tileiras_progress(tileiras_handle launch, int64_t *blocks);

/* A stand-in for NVIDIA's driver, for host programs that call its API: returns the address of a cuGetProcAddress whose functions load the images that
 * tileiras_image makes and launch their kernels here. There is one device, the GPU of the options, and one launch runs at a time: what begins another,
 * touches memory or synchronizes waits for it, whatever thread began it. docs/nogpu.md says what the stand-in cannot do.
 * NULL where the GPU of the options is none of those that there are: tileiras_load says so in words. */
void *tileiras_driver(tileiras_handle options);

/* What the stand-in takes for a cubin: Tile IR with the GPU and the optimization level of the options; all else it has from its own. It is the
 * output of the result, which says what tileiras_load would say of it with the options of the stand-in. */
tileiras_handle tileiras_image(tileiras_data source, size_t size, tileiras_handle options);

/* The memory that kernels may touch which this thread launches through the stand-in from now on, besides what the driver API allocated. It must stay
 * until it is replaced. With NULL nobody says what they may touch: then it is what the process has mapped (Linux only), bounds are no finer than that,
 * a launch ends before it returns, and what went wrong is on the standard error. */
void tileiras_driver_memory(tileiras_memory memory, size_t regions);

/* The launch that this thread began last through the stand-in, or 0; the caller frees it. What nobody asks for is freed by the next launch. */
tileiras_handle tileiras_driver_launched(void);

/* Frees any object. Another call for the same handle does nothing and returns TILEIRAS_USAGE. */
int tileiras_free(tileiras_handle object);

#ifdef __cplusplus
}
#endif
#endif
