# cmake -D BUILD=... -D SOURCE=... -D COMPILER=... -D CONFIG=... -P run.cmake: installs the build into a folder of its own,
# builds the outside project against it, and runs that and the installed program.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${BUILD}/install_test RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed (${result}):\n${output}")
  endif()
endfunction()

set(prefix ${BUILD}/install_test/prefix)
file(REMOVE_RECURSE ${BUILD}/install_test)
file(MAKE_DIRECTORY ${BUILD}/install_test)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B user -G Ninja -DCMAKE_BUILD_TYPE=${CONFIG}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build user)
run(user/user)
run(${prefix}/bin/espalier train --list)
