// The file that this library was loaded from: its hash names the build.
#define _GNU_SOURCE
#ifdef _WIN32
const char *tileiras_own_file(void) { return 0; }
#else
#include <dlfcn.h>
const char *tileiras_own_file(void) {
    Dl_info info;
    return dladdr((void *)tileiras_own_file, &info) ? info.dli_fname : 0;
}
#endif
