/* Files that only this user can have written, read in one step of Python's: no signal's handler, which may raise, comes
   between the opening of a descriptor and its closing.

   What may be read is what tinytrace/runtime/folders.py says: nothing behind a link, nothing that belongs to somebody
   else or that others may write to. Folders are opened one inside the other, so nobody can exchange one meanwhile. */

#include "private_files.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 8 }; /* folders, and files */

struct content {
    const char *name;
    size_t limit;
    char *bytes; /* NULL until it is read; from PyMem_RawMalloc */
    size_t size;
};

/* 0, or -1 with errno set. */
static int require_private(int descriptor, mode_t kind, const uid_t owners[2], struct stat *status) {
    if (fstat(descriptor, status))
        return -1;
    int ours = status->st_uid == owners[0] || status->st_uid == owners[1];
    if (ours && (status->st_mode & S_IFMT) == kind && !(status->st_mode & (S_IWGRP | S_IWOTH)))
        return 0;
    errno = EPERM;
    return -1;
}

static int open_folder(int outer, const char *name, const uid_t owners[2]) {
    struct stat status;
    int folder = openat(outer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && require_private(folder, S_IFDIR, owners, &status)) {
        close(folder);
        return -1;
    }
    return folder;
}

static int read_opened(int descriptor, struct content *file, const uid_t owners[2]) {
    struct stat status;
    if (require_private(descriptor, S_IFREG, owners, &status))
        return -1;
    if ((uintmax_t)status.st_size > file->limit) {
        errno = EFBIG;
        return -1;
    }
    if (!(file->bytes = PyMem_RawMalloc((size_t)status.st_size + 1))) {
        errno = ENOMEM;
        return -1;
    }
    while (file->size < (size_t)status.st_size) {
        ssize_t got = read(descriptor, file->bytes + file->size, (size_t)status.st_size - file->size);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break; /* it was cut short meanwhile */
        if (got > 0)
            file->size += (size_t)got;
    }
    return 0;
}

static int read_files(int folder, struct content *files, size_t count, const uid_t owners[2]) {
    for (struct content *file = files; file < files + count; file++) {
        /* Without O_NONBLOCK, opening a FIFO would wait for a writer. */
        int descriptor = openat(folder, file->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0)
            return -1;
        int failed = read_opened(descriptor, file, owners), number = errno;
        close(descriptor);
        errno = number;
        if (failed)
            return -1;
    }
    return 0;
}

static int read_all(const char *const *folders, size_t depth, struct content *files, size_t count,
                    const uid_t owners[2]) {
    int folder = AT_FDCWD;
    for (size_t i = 0; i < depth; i++) {
        int inner = open_folder(folder, folders[i], owners), number = errno;
        if (folder != AT_FDCWD)
            close(folder);
        errno = number;
        if ((folder = inner) < 0)
            return -1;
    }
    int failed = read_files(folder, files, count, owners), number = errno;
    if (!failed)
        futimens(folder, NULL); /* where that fails nothing is lost: nobody sweeps what he cannot write */
    close(folder);
    errno = number;
    return failed;
}

/* read_private(folders, files, owner, other_owner): the bytes of files in the innermost of folders, and note its use.

   folders: bytes, the first one absolute, each other one a name in the one before. files: (name, limit). OSError if one
   is missing, of another kind, not private, or longer than its limit. */
PyObject *read_private(PyObject *module, PyObject *args) {
    PyObject *folders, *files, *result = NULL;
    long long owner, other;
    const char *names[MOST];
    struct content contents[MOST] = {{0}};
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!LL", &PyTuple_Type, &folders, &PyTuple_Type, &files, &owner, &other))
        return NULL;
    Py_ssize_t depth = PyTuple_GET_SIZE(folders), count = PyTuple_GET_SIZE(files);
    if (depth < 1 || depth > MOST || count > MOST)
        return PyErr_Format(PyExc_ValueError, "from 1 to %d folders, and at most as many files", MOST);
    for (Py_ssize_t i = 0; i < depth; i++)
        if (!(names[i] = PyBytes_AsString(PyTuple_GET_ITEM(folders, i))))
            return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t limit;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(files, i), "yn", &contents[i].name, &limit))
            return NULL;
        contents[i].limit = limit < 0 ? 0 : (size_t)limit;
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = read_all(names, (size_t)depth, contents, (size_t)count, (uid_t[2]){(uid_t)owner, (uid_t)other});
    Py_END_ALLOW_THREADS
    if (failed)
        PyErr_SetFromErrno(PyExc_OSError);
    else
        result = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bytes = result ? PyBytes_FromStringAndSize(contents[i].bytes, (Py_ssize_t)contents[i].size) : NULL;
        if (bytes)
            PyTuple_SET_ITEM(result, i, bytes);
        else
            Py_CLEAR(result);
        PyMem_RawFree(contents[i].bytes);
    }
    return result;
}
