# cmake -D BUILD=... -D SOURCE=... -D COMPILER=... -P without_mpi.cmake: configures the tree as on a machine where CMake
# looks for MPI and finds none, and checks that the program is then built from its stub alone.
file(REMOVE_RECURSE ${BUILD})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G Ninja -DCMAKE_BUILD_TYPE=Release -DESPALIER_TESTS=OFF
    -DCMAKE_CXX_COMPILER=${COMPILER}
    -DMPI_SKIP_COMPILER_WRAPPER=ON -DMPI_SKIP_GUESSING=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "configuring failed (${result}):\n${output}")
endif()
file(STRINGS ${BUILD}/build.ninja sources REGEX "^build .*mpi_ranks\\.cpp\\.o:")
list(LENGTH sources count)
if(NOT count EQUAL 1 OR NOT sources MATCHES "no_mpi_ranks")
  message(FATAL_ERROR "expected no_mpi_ranks.cpp alone, got: ${sources}")
endif()
