/* Compiles a file of Tile IR to PTX:  ./compile kernel.tileirbc sm_90 > kernel.ptx */
#include <stdio.h>
#include <stdlib.h>

#include "tileiras.h"

static char *read_file(const char *name, size_t *size) {
    FILE *f = fopen(name, "rb");
    if (!f) {
        perror(name);
        exit(1);
    }
    char *data = NULL;
    *size = 0;
    for (size_t n = 1; n > 0; *size += n) {
        data = realloc(data, *size + 65536);
        n = fread(data + *size, 1, 65536, f);
    }
    fclose(f);
    return data;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE GPU\n", argv[0]);
        return 1;
    }
    if (tileiras_abi() != TILEIRAS_ABI) {
        fprintf(stderr, "libtileiras has interface %d, this program was built for %d\n", tileiras_abi(), TILEIRAS_ABI);
        return 1;
    }
    size_t size;
    char *source = read_file(argv[1], &size);
    tileiras_handle options = tileiras_options_new();
    tileiras_set(options, "name", argv[1]);
    tileiras_set(options, "gpu", argv[2]);

    tileiras_handle result = tileiras_compile(source, size, options, 0);
    int status = tileiras_status(result);
    if (status == TILEIRAS_OK) {
        size_t n;
        const void *ptx = tileiras_output(result, &n);
        fwrite(ptx, 1, n, stdout);
    } else {
        fprintf(stderr, "%s\n", tileiras_error(result));
    }
    tileiras_free(result);
    tileiras_free(options);
    free(source);
    return status;
}
