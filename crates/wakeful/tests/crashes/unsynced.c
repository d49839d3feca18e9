/* A device that forgets what was not synced, for one process.
 *
 * Preloaded into the server. Before each write to a file below UNSYNCED_DATA
 * the bytes that it replaces are noted in UNSYNCED_UNDO/INODE; syncing the file
 * empties the note. After the process was killed, whoever plays the notes
 * backwards has the files as they were last synced.
 *
 * A note is {size of the file, offset, count} as three 64-bit numbers in the
 * machine's order, then the old bytes. It is written before the write itself,
 * so a note that was cut short belongs to a write that never was.
 *
 * The index of SQLite's write-ahead log (-shm) needs no durability and is left
 * alone. Names (creating, renaming, removing) count as durable at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
    char text[200];
    int length = snprintf(text, sizeof text, "unsynced: %s: errno %d\n", what, errno);
    syscall(SYS_write, 2, text, length);
    abort();
}

/* Whether this is one of the files; gives its size and number. */
static int is_ours(int fd, struct stat *file) {
    const char *data = getenv("UNSYNCED_DATA");
    if (!data || fstat(fd, file) != 0 || !S_ISREG(file->st_mode)) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    size_t prefix = strlen(data);
    if (strncmp(path, data, prefix) != 0 || path[prefix] != '/') return 0;
    return length < 4 || strcmp(path + length - 4, "-shm") != 0;
}

static int open_notes(uint64_t inode, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu", getenv("UNSYNCED_UNDO"), (unsigned long long)inode);
    return syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

/* Notes the bytes from `offset` to `end`, as far as the file has them. */
static void note(int fd, const struct stat *file, uint64_t offset, uint64_t end) {
    uint64_t size = file->st_size;
    uint64_t count = offset < size ? (end < size ? end : size) - offset : 0;
    unsigned char *bytes = malloc(24 + count);
    if (!bytes) fail("no memory");
    uint64_t head[3] = {size, offset, count};
    memcpy(bytes, head, 24);
    /* The server may have opened it for writing alone. */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reading = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (reading < 0) fail("a file cannot be read");
    for (uint64_t done = 0; done < count;) {
        ssize_t read = syscall(SYS_pread64, reading, bytes + 24 + done, count - done, offset + done);
        if (read <= 0) fail("bytes cannot be read");
        done += read;
    }
    syscall(SYS_close, reading);
    int notes = open_notes(file->st_ino, O_WRONLY | O_CREAT | O_APPEND);
    if (notes < 0 || syscall(SYS_write, notes, bytes, 24 + count) != (long)(24 + count))
        fail("a note cannot be written");
    syscall(SYS_close, notes);
    free(bytes);
}

static void forget(uint64_t inode) {
    int notes = open_notes(inode, O_WRONLY | O_TRUNC);
    if (notes >= 0) syscall(SYS_close, notes);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    struct stat file;
    if (!is_ours(fd, &file)) return syscall(SYS_write, fd, bytes, count);
    pthread_mutex_lock(&one_at_a_time);
    fstat(fd, &file);
    int appends = fcntl(fd, F_GETFL) & O_APPEND;
    uint64_t offset = appends ? file.st_size : syscall(SYS_lseek, fd, 0, SEEK_CUR);
    note(fd, &file, offset, offset + count);
    ssize_t written = syscall(SYS_write, fd, bytes, count);
    pthread_mutex_unlock(&one_at_a_time);
    return written;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    struct stat file;
    if (!is_ours(fd, &file)) return syscall(SYS_pwrite64, fd, bytes, count, offset);
    pthread_mutex_lock(&one_at_a_time);
    fstat(fd, &file);
    note(fd, &file, offset, offset + count);
    ssize_t written = syscall(SYS_pwrite64, fd, bytes, count, offset);
    pthread_mutex_unlock(&one_at_a_time);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite64(fd, bytes, count, offset);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    struct stat file;
    if (is_ours(fd, &file)) fail("writev is not noted");
    return syscall(SYS_writev, fd, pieces, count);
}

int ftruncate64(int fd, off64_t size) {
    struct stat file;
    if (!is_ours(fd, &file)) return syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&one_at_a_time);
    fstat(fd, &file);
    note(fd, &file, size, file.st_size);
    int done = syscall(SYS_ftruncate, fd, size);
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int sync_file(long call, int fd) {
    struct stat file;
    if (!is_ours(fd, &file)) return syscall(call, fd);
    pthread_mutex_lock(&one_at_a_time);
    int done = syscall(call, fd);
    if (done == 0) forget(file.st_ino);
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}

int fsync(int fd) { return sync_file(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_file(SYS_fdatasync, fd); }

int unlink(const char *path) {
    struct stat file;
    int known = stat(path, &file) == 0;
    pthread_mutex_lock(&one_at_a_time);
    int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    /* The number may be given to another file. */
    if (done == 0 && known && getenv("UNSYNCED_DATA") && file.st_nlink == 1) forget(file.st_ino);
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}
