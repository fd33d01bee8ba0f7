/* Eight threads compile with one object of options; then a compile is canceled by another thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tileiras.h"

enum { THREADS = 8, ROUNDS = 4 };

static char *source;
static size_t size;
static tileiras_handle options;
static char *first;

static char *compile(void) {
    tileiras_handle r = tileiras_compile(source, size, options, 0);
    size_t n;
    const char *ptx = tileiras_output(r, &n);
    char *copy = tileiras_status(r) == TILEIRAS_OK && strlen(ptx) == n ? strdup(ptx) : NULL;
    tileiras_free(r);
    return copy;
}

static void *work(void *wrong) {
    for (int i = 0; i < ROUNDS; i++) {
        char *ptx = compile();
        if (!ptx || strcmp(ptx, first) != 0)
            *(int *)wrong = 1;
        free(ptx);
    }
    return NULL;
}

static void *cancel(void *token) {
    tileiras_cancel(*(tileiras_handle *)token);
    return NULL;
}

int main(int argc, char **argv) {
    FILE *f = fopen(argv[argc - 1], "rb");
    source = malloc(1 << 20);
    size = fread(source, 1, 1 << 20, f);
    fclose(f);
    options = tileiras_options_new();
    tileiras_set(options, "gpu", "sm_80");
    first = compile();
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &wrong[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (!first || wrong[i])
            puts("a thread got another output");
    }
    tileiras_handle token = tileiras_cancel_new();
    pthread_create(&threads[0], NULL, cancel, &token);
    pthread_join(threads[0], NULL);
    tileiras_handle r = tileiras_compile(source, size, options, token);
    if (tileiras_status(r) != TILEIRAS_UNSUPPORTED || !strstr(tileiras_json(r, "diagnostics"), "\"canceled\""))
        printf("a canceled compile: status %d, %s\n", tileiras_status(r), tileiras_error(r));
    tileiras_free(r);
    tileiras_free(token);
    if (tileiras_free(options) != TILEIRAS_OK || tileiras_free(options) != TILEIRAS_USAGE)
        puts("options were not freed once");
    puts("ok");
    return 0;
}
