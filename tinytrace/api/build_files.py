"""A Makefile and a CMakeLists.txt for an exported program, with the flags that its bits depend on."""
from __future__ import annotations

from tinytrace.codegen.c.standalone import Standalone
from tinytrace.runtime.blas import blas_path
from tinytrace.runtime.flags import NATIVE, own_flags, quick_flags

HOST_FLAGS = "-std=gnu11 -O2 -Wall -Wextra"


def build_flags(family: str, quick: int) -> tuple[str, ...]:
    """Return the flags with which tinytrace compiles such a program; `family` is gcc or clang.

    >>> "-ffp-contract=off" in build_flags("gcc", False)
    True
    """
    return (*own_flags(family), *quick_flags(family, quick), *NATIVE)


def makefile(program: Standalone) -> str:
    """Return a Makefile that builds the program's example."""
    quick = program.source.quick if program.source is not None else 0
    name, host = program.name, " tt_host.o" if program.needs_host else ""
    lines = [f"# make            builds ./example, which runs {name}",
             "# make CC=clang   with another compiler",
             "CC = cc",
             "FAMILY := $(if $(findstring clang,$(shell $(CC) --version)),clang,gcc)",
             "# The flags of the jitted call: with them, and the same compiler, the results are the same to the bit.",
             *(f"FLAGS_{family} = {' '.join(build_flags(family, quick))}" for family in ("gcc", "clang")),
             "CFLAGS = $(FLAGS_$(FAMILY)) -Wall -Wextra",
             f"HOST_FLAGS = {HOST_FLAGS}"]
    if program.needs_blas:
        lines += ["# OpenBLAS makes products fast, and equal to the jitted call's; without it they are plain C loops.",
                  f"BLAS := $(wildcard {_escaped(blas_path())})",
                  """HOST_FLAGS += $(if $(BLAS),-DTT_BLAS='"$(BLAS)"')"""]
    lines += ["", f"example: example.o {name}.o{host}", f"\t$(CC) -o $@ $^ {_libraries(program)}", "",
              f"{name}.o example.o: %.o: %.c {name}.h", "\t$(CC) $(CFLAGS) -c $<", ""]
    if program.needs_host:
        lines += ["tt_host.o: tt_host.c", "\t$(CC) $(HOST_FLAGS) -c $<", ""]
    return "\n".join([*lines, "clean:", f"\trm -f example example.o {name}.o{host}", ""])


def cmakelists(program: Standalone) -> str:
    """Return a CMakeLists.txt with the program as a library and its example."""
    quick = program.source.quick if program.source is not None else 0
    name, host = program.name, " tt_host.c" if program.needs_host else ""
    lines = ["cmake_minimum_required(VERSION 3.13)", f"project({name} C)", f"add_library({name} STATIC {name}.c{host})",
             "# The flags of the jitted call: with them, and the same compiler, the results are the same to the bit.",
             'if(CMAKE_C_COMPILER_ID MATCHES "Clang")',
             f"  set(FLAGS {' '.join(_for_cmake(build_flags('clang', quick)))})", "else()",
             f"  set(FLAGS {' '.join(_for_cmake(build_flags('gcc', quick)))})", "endif()",
             f"set_source_files_properties({name}.c PROPERTIES COMPILE_OPTIONS \"${{FLAGS}}\")"]
    if program.needs_host:
        lines += ["find_package(Threads REQUIRED)",
                  "set_source_files_properties(tt_host.c PROPERTIES COMPILE_OPTIONS \"-std=gnu11;-O2\")"]
    if program.needs_blas:
        lines += ['set(BLAS "" CACHE FILEPATH "the shared library of OpenBLAS, for products like the jitted call\'s")',
                  "if(BLAS)",
                  '  set_property(SOURCE tt_host.c APPEND PROPERTY COMPILE_DEFINITIONS "TT_BLAS=\\"${BLAS}\\"")',
                  "endif()"]
    needed = " Threads::Threads ${CMAKE_DL_LIBS}" if program.needs_host else ""
    lines += [f"target_link_libraries({name} PUBLIC m{needed})",
              f"target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})",
              "add_executable(example example.c)", f"target_link_libraries(example {name})", ""]
    return "\n".join(lines)


def _libraries(program: Standalone) -> str:
    return "-lm -lpthread -ldl" if program.needs_host else "-lm"


def _for_cmake(flags: tuple[str, ...]) -> list[str]:
    """Return flags as items of a list, of which CMake drops repetitions unless an option and its value are one."""
    joined: list[str] = []
    for flag in flags:
        if joined and joined[-1] == "-mllvm":
            joined[-1] = f'"SHELL:-mllvm {flag}"'
        else:
            joined.append(flag)
    return joined


def _escaped(path: str) -> str:
    """Return a path as make reads it; nothing if make could not."""
    return path.replace("$", "$$") if not any(c in path for c in " \t\n#%:\\'\"") else ""
