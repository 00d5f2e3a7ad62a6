/* A page of a mapped file that is no longer there, because the file was cut or the disk fails,
 * raises SIGBUS, which ends the process. For mappings that are guarded the handler puts pages of
 * zeros in the place of the rest of the mapping and notes it; the reader goes on and is told at
 * the end. Other faults go to whoever handled them before. */
#if defined(__unix__) || defined(__APPLE__)
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"

enum { MOST = 64 };

typedef struct {
    atomic_uintptr_t start; /* 0: free */
    atomic_size_t length;
    atomic_int broken;
} mapping;

static mapping mappings[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int guarded; /* how many mappings are; under the lock */
static struct sigaction before;
static uintptr_t page_size;

/* Only calls that a signal handler may make; mmap is a bare system call. */
static int replace(uintptr_t address) {
    for (int i = 0; i < MOST; i++) {
        const uintptr_t start = atomic_load(&mappings[i].start);
        const size_t length = atomic_load(&mappings[i].length);
        if (!start || address < start || address - start >= length) continue;
        const uintptr_t page = address & ~(page_size - 1);
        void *zeros = mmap((void *)page, start + length - page, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED) return 0;
        atomic_store(&mappings[i].broken, 1);
        return 1;
    }
    return 0;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    const int error = errno;
    const int replaced = replace((uintptr_t)info->si_addr);
    errno = error;
    if (replaced) return;
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        signal(number, SIG_DFL); /* the fault comes again and ends the process */
    }
}

static int install(void) {
    struct sigaction ours = {0};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    return sigaction(SIGBUS, &ours, &before) == 0;
}

static void uninstall(void) {
    struct sigaction now;
    const int known = sigaction(SIGBUS, NULL, &now) == 0;
    /* Somebody who came after us and calls us in turn has to go on finding us. */
    if (known && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error)
        sigaction(SIGBUS, &before, NULL);
}

int ggufspec_guard_begin(const void *start, size_t length) {
    int number = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST && number < 0; i++)
        if (!atomic_load(&mappings[i].start)) number = i;
    if (!start || !length || (number >= 0 && !guarded && !install())) number = -1;
    if (number >= 0) {
        guarded++;
        atomic_store(&mappings[number].broken, 0);
        atomic_store(&mappings[number].length, length);
        atomic_store(&mappings[number].start, (uintptr_t)start);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

int ggufspec_guard_end(int number) {
    if (number < 0 || number >= MOST) return 0;
    pthread_mutex_lock(&lock);
    const int broken = atomic_load(&mappings[number].broken);
    if (atomic_exchange(&mappings[number].start, 0) && --guarded == 0) uninstall();
    pthread_mutex_unlock(&lock);
    return broken;
}

#else
#include "guard.h"

int ggufspec_guard_begin(const void *start, size_t length) {
    (void)start;
    (void)length;
    return -1;
}

int ggufspec_guard_end(int number) {
    (void)number;
    return 0;
}
#endif
