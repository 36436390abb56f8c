// Preloaded into the program under test: counts its calls that change files, and before the n-th one kills the process
// or makes the call fail. Settings are environment variables:
//   FAULT_AT=n        which call, from 1; 0 or unset: none, only counted
//   FAULT_KIND=kill | enospc | full | eio | short   (full: enospc from then on; short: a write that writes half of its
//                     bytes, then works again)
//   FAULT_COUNT=FILE  where the number of calls is written at the end
//   FAULT_PREFIX=DIR  only calls on files below this folder count (by their real path)
//   FAULT_THREADS=n   the n-th thread and all after it cannot be started, as under a limit on processes
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static volatile long calls;

static const char* setting(const char* name) {
  const char* text = getenv(name);
  return text ? text : "";
}

static int below_prefix(const char* path) {
  const char* prefix = setting("FAULT_PREFIX");
  if (!*prefix) return 1;
  char absolute[PATH_MAX];
  if (path[0] != '/') {
    if (!getcwd(absolute, sizeof absolute)) return 0;
    strncat(absolute, "/", sizeof absolute - strlen(absolute) - 1);
    strncat(absolute, path, sizeof absolute - strlen(absolute) - 1);
    path = absolute;
  }
  return strncmp(path, prefix, strlen(prefix)) == 0;
}

static int descriptor_below_prefix(int descriptor) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return path[0] == '/' && below_prefix(path);
}

// A path seen from the handle of a folder.
static int below_prefix_at(int folder, const char* path) {
  if (path[0] == '/' || folder == AT_FDCWD) return below_prefix(path);
  char link[64], whole[2 * PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  const ssize_t length = readlink(link, whole, PATH_MAX - 1);
  if (length < 0) return 0;
  whole[length] = 0;
  strncat(whole, "/", 2);
  strncat(whole, path, PATH_MAX - 1);
  return below_prefix(whole);
}

// 0: go on; otherwise the errno to fail with, or -1 for a short write.
static int strike(void) {
  const long at = atol(setting("FAULT_AT"));
  const long now = __sync_add_and_fetch(&calls, 1);
  const char* kind = setting("FAULT_KIND");
  if (at > 0 && now >= at && strcmp(kind, "full") == 0) return ENOSPC;
  if (now != at) return 0;
  if (strcmp(kind, "enospc") == 0) return ENOSPC;
  if (strcmp(kind, "eio") == 0) return EIO;
  if (strcmp(kind, "short") == 0) return -1;
  kill(getpid(), SIGKILL);
  pause();
  return EIO;
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF_STRUCK(counted)     \
  do {                              \
    if (counted) {                  \
      const int struck = strike();  \
      if (struck > 0) {             \
        errno = struck;             \
        return -1;                  \
      }                             \
    }                               \
  } while (0)

static int changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)); }

#define DEFINE_OPEN(name)                                                \
  int name(const char* path, int flags, ...) {                           \
    va_list arguments;                                                   \
    va_start(arguments, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments);                                                   \
    FAIL_IF_STRUCK(changes(flags) && below_prefix(path));                \
    return REAL(name)(path, flags, mode);                                \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                              \
  int name(int folder, const char* path, int flags, ...) {               \
    va_list arguments;                                                   \
    va_start(arguments, flags);                                          \
    const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments);                                                   \
    FAIL_IF_STRUCK(changes(flags) && below_prefix_at(folder, path));     \
    return REAL(name)(folder, path, flags, mode);                        \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (descriptor > 2 && descriptor_below_prefix(descriptor)) {
    const int struck = strike();
    if (struck > 0) {
      errno = struck;
      return -1;
    }
    if (struck < 0 && count > 1) count /= 2;
  }
  return REAL(write)(descriptor, bytes, count);
}

int fsync(int descriptor) {
  FAIL_IF_STRUCK(descriptor_below_prefix(descriptor));
  return REAL(fsync)(descriptor);
}
int ftruncate(int descriptor, off_t length) {
  FAIL_IF_STRUCK(descriptor_below_prefix(descriptor));
  return REAL(ftruncate)(descriptor, length);
}
int rename(const char* from, const char* to) {
  FAIL_IF_STRUCK(below_prefix(to));
  return REAL(rename)(from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  FAIL_IF_STRUCK(below_prefix_at(to_folder, to));
  return REAL(renameat)(from_folder, from, to_folder, to);
}
int link(const char* from, const char* to) {
  FAIL_IF_STRUCK(below_prefix(to));
  return REAL(link)(from, to);
}
int unlink(const char* path) {
  FAIL_IF_STRUCK(below_prefix(path));
  return REAL(unlink)(path);
}
int unlinkat(int folder, const char* path, int flags) {
  FAIL_IF_STRUCK(below_prefix_at(folder, path));
  return REAL(unlinkat)(folder, path, flags);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  FAIL_IF_STRUCK(below_prefix_at(folder, path));
  return REAL(mkdirat)(folder, path, mode);
}
int remove(const char* path) {
  FAIL_IF_STRUCK(below_prefix(path));
  return REAL(remove)(path);
}
int mkdir(const char* path, mode_t mode) {
  FAIL_IF_STRUCK(below_prefix(path));
  return REAL(mkdir)(path, mode);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static long threads;
  const long first = atol(setting("FAULT_THREADS"));
  if (first > 0 && __sync_add_and_fetch(&threads, 1) >= first) return EAGAIN;
  return REAL(pthread_create)(thread, attributes, start, argument);
}

__attribute__((destructor)) static void report(void) {
  const char* path = setting("FAULT_COUNT");
  if (!*path) return;
  FILE* file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "%ld\n", calls);
  fclose(file);
}
