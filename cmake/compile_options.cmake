# Flags shared by every target of the project, carried by one interface target; nothing global.
add_library(espalier_compile_options INTERFACE)
target_compile_features(espalier_compile_options INTERFACE cxx_std_20)
# The bits of a result may not depend on where a compiler chooses to fuse a multiply and an add.
target_compile_options(espalier_compile_options INTERFACE -ffp-contract=off)
# Nobody reads errno or the exception flags after arithmetic; saying so lets loops with sqrt and comparisons
# become vector code. No value changes.
target_compile_options(espalier_compile_options INTERFACE -fno-math-errno -fno-trapping-math)
if(ESPALIER_PYTHON)
  # Code for a shared object, but nobody replaces its functions from outside: they may be inlined as in the program.
  target_compile_options(espalier_compile_options INTERFACE -fno-semantic-interposition -fvisibility=hidden
    -fvisibility-inlines-hidden)
endif()
# Of Highway's targets the ones that differ in what our kernels use: the others only cost compile time.
target_compile_definitions(espalier_compile_options INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)")

set(ESPALIER_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
if(ESPALIER_DEVELOPER AND NOT ESPALIER_SANITIZE)  # instrumentation makes GCC warn of what is not there
  target_compile_options(espalier_compile_options INTERFACE -Wall -Wextra -Wpedantic -Werror)
endif()
if(ESPALIER_SANITIZE)
  target_compile_options(espalier_compile_options INTERFACE -fsanitize=${ESPALIER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(espalier_compile_options INTERFACE -fsanitize=${ESPALIER_SANITIZE})
  if(ESPALIER_SANITIZE MATCHES "address,undefined")  # the first sees most of what these do; a fifth of the compile time
    target_compile_options(espalier_compile_options INTERFACE -fno-sanitize=null,vptr,object-size)
  endif()
endif()

option(ESPALIER_FUZZ "Build the fuzzers (clang only; see script/fuzz)" OFF)
if(ESPALIER_FUZZ)
  target_compile_options(espalier_compile_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(ESPALIER_CCACHE ccache)
if(ESPALIER_CCACHE)
  # Paths relative to the checkout, so that several checkouts share what was compiled once. The sloppiness is what
  # ccache asks for with precompiled headers: __TIME__ is not used, and macros are the same in all targets of a build.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${ESPALIER_CCACHE})
endif()

# The headers that nearly every file reads, compiled once for all rooms. Sources still include what they use: a build
# with clang, or with -D ESPALIER_PCH=OFF, shows what is missing. By name, not by path, so that the result does not
# depend on where the checkout lies.
set(pch_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(pch_default ON)
endif()
option(ESPALIER_PCH "Precompile the headers that most files include" ${pch_default})
set(ESPALIER_PRECOMPILED <algorithm> <array> <atomic> <bit> <charconv> <cmath> <cstddef> <cstdint> <cstring>
  <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <thread> <unordered_map>
  <utility> <vector> <fmt/format.h> <fmt/ranges.h>)
if(ESPALIER_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(espalier_compile_options INTERFACE -fpch-preprocess)  # for ccache
endif()

# espalier_precompile(TARGET KIND [HEADERS ...]): the first target of a kind makes the precompiled headers, the others
# share them; all must be compiled with the same options.
function(espalier_precompile target kind)
  if(NOT ESPALIER_PCH)
    return()
  endif()
  get_property(maker GLOBAL PROPERTY espalier_pch_of_${kind})
  if(maker)
    target_precompile_headers(${target} REUSE_FROM ${maker})
  else()
    target_precompile_headers(${target} PRIVATE ${ESPALIER_PRECOMPILED} ${ARGN})
    set_property(GLOBAL PROPERTY espalier_pch_of_${kind} ${target})
  endif()
endfunction()

# espalier_source_options(FILE OPTION...): options of one file under src/, which then reads no precompiled headers. A file
# that was renamed is an error here and not a loss of speed that nobody sees.
function(espalier_source_options file)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/src/${file})
    message(FATAL_ERROR "src/${file} has options of its own in cmake/compile_options.cmake, but is not there")
  endif()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/${file} PROPERTIES COMPILE_OPTIONS "${ARGN}"
    SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Gate kernels keep fifteen vectors alive: GCC spills half of them unless it schedules for register pressure.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  espalier_source_options(logic/gate_kernels.cpp -fschedule-insns -fsched-pressure)
  espalier_source_options(models/lattice/perceive_tree_kernels.cpp -fschedule-insns -fsched-pressure)
endif()
# The yardstick of the lattice bench is what a compiler makes of plain loops, fused multiply-adds and all.
espalier_source_options(models/lattice/lane_prototype.cpp -ffp-contract=fast)

# Commands only call the rooms: speed does not depend on how they are compiled, and -O3 of their JSON takes its time.
file(GLOB commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/espalier/*.cpp)
set_source_files_properties(${commands} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
