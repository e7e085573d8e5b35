/* Loaded libraries as objects of Python's: each is closed when its object goes. Loading is one step of Python's, so what
   a signal's handler raises never leaves a library loaded that nobody knows. */

#define _GNU_SOURCE
#include "libraries.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const char kind[] = "tinytrace.library";

static void close_library(PyObject *library) { dlclose(PyCapsule_GetPointer(library, kind)); }

static PyObject *opened(const char *path) {
    char reason[512] = "";
    void *handle;
    Py_BEGIN_ALLOW_THREADS
    if (!(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        snprintf(reason, sizeof reason, "%s", dlerror());
    Py_END_ALLOW_THREADS
    if (!handle)
        return PyErr_Format(PyExc_OSError, "%s", reason);
    PyObject *library = PyCapsule_New(handle, kind, close_library);
    if (!library)
        dlclose(handle);
    return library;
}

#ifdef MFD_CLOEXEC
static int write_all(int descriptor, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t done = write(descriptor, bytes, size);
        if (done < 0 && errno != EINTR)
            return -1;
        if (done > 0)
            bytes += done, size -= (size_t)done;
    }
    return 0;
}

/* The path of a descriptor, with a part that means nothing and is new each time: the loader takes a path that it has
   seen for the library that it has loaded from it, and descriptors are reused. */
static void path_of(int descriptor, char path[512]) {
    static unsigned count;
    int length = snprintf(path, 512, "/proc/self/fd");
    for (unsigned rest = ++count; rest; rest /= 2)
        length += snprintf(path + length, 512 - (size_t)length, rest % 2 ? "//." : "/.");
    snprintf(path + length, 512 - (size_t)length, "/%d", descriptor);
}

/* load_copy(bytes, name): a library from a file in memory that has a copy of its bytes. OSError where that fails. */
PyObject *load_copy(PyObject *module, PyObject *args) {
    const char *bytes, *name;
    Py_ssize_t size;
    char path[512];
    PyObject *library = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#s", &bytes, &size, &name))
        return NULL;
    int descriptor = memfd_create(name, MFD_CLOEXEC);
    if (descriptor < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    if (write_all(descriptor, bytes, (size_t)size)) {
        PyErr_SetFromErrno(PyExc_OSError);
    } else {
        path_of(descriptor, path);
        library = opened(path);
    }
    close(descriptor);
    return library;
}
#else
PyObject *load_copy(PyObject *module, PyObject *args) {
    (void)module, (void)args;
    return PyErr_Format(PyExc_OSError, "this system has no files in memory");
}
#endif

/* load_file(path): a library from the file of this path. OSError where that fails. */
PyObject *load_file(PyObject *module, PyObject *path) {
    (void)module;
    const char *name = PyBytes_AsString(path);
    return name ? opened(name) : NULL;
}

/* symbol_of(library, name): the address of what a library calls so. OSError if there is none. */
PyObject *symbol_of(PyObject *module, PyObject *args) {
    PyObject *library;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os", &library, &name))
        return NULL;
    void *handle = PyCapsule_GetPointer(library, kind), *found = handle ? dlsym(handle, name) : NULL;
    if (found)
        return PyLong_FromUnsignedLongLong((uintptr_t)found);
    return handle ? PyErr_Format(PyExc_OSError, "%s", dlerror()) : NULL;
}
