// What this library was loaded from names the build: on Linux the ID that the go command left in it, for another file may have its name by
// now; elsewhere the file.
#define _GNU_SOURCE
#include <stddef.h>
#ifdef __linux__
#include <link.h>
#include <stdint.h>
#include <string.h>

// note is a note of an ELF file, found by one of its addresses.
struct note {
    uintptr_t inside;
    const char *text;
    size_t size;
};

// in_note looks for the note of kind 4 of "Go" in the notes between two addresses.
static void in_note(struct note *n, const char *at, const char *end) {
    while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *h = (const ElfW(Nhdr) *)at;
        const char *name = at + sizeof *h, *text = name + ((h->n_namesz + 3) & ~(size_t)3);
        if (h->n_type == 4 && h->n_namesz == 4 && memcmp(name, "Go\0", 4) == 0) {
            n->text = text;
            n->size = h->n_descsz;
        }
        at = text + ((h->n_descsz + 3) & ~(size_t)3);
    }
}

static int in_object(struct dl_phdr_info *o, size_t size, void *data) {
    struct note *n = data;
    int own = 0;
    for (int i = 0; i < o->dlpi_phnum; i++) {
        uintptr_t start = o->dlpi_addr + o->dlpi_phdr[i].p_vaddr;
        own |= o->dlpi_phdr[i].p_type == PT_LOAD && n->inside >= start && n->inside - start < o->dlpi_phdr[i].p_memsz;
    }
    for (int i = 0; own && i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_NOTE) {
            const char *start = (const char *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
            in_note(n, start, start + o->dlpi_phdr[i].p_memsz);
        }
    return own;
}

const char *tileiras_own_id(size_t *size) {
    struct note n = {(uintptr_t)tileiras_own_id, NULL, 0};
    dl_iterate_phdr(in_object, &n);
    *size = n.size;
    return n.text;
}
const char *tileiras_own_file(void) { return NULL; }
#else
const char *tileiras_own_id(size_t *size) {
    *size = 0;
    return NULL;
}
#ifdef _WIN32
const char *tileiras_own_file(void) { return NULL; }
#else
#include <dlfcn.h>
const char *tileiras_own_file(void) {
    Dl_info info;
    return dladdr((void *)tileiras_own_file, &info) ? info.dli_fname : NULL;
}
#endif
#endif
