# How unit tests are declared, as GoogleTest binaries; lit and pytest find their tests themselves.

find_package(GTest REQUIRED)

# stagewright_unit_test(NAME SOURCES... [LINK libraries...]): built by the target unit-tests, run by `./dev test`.
if(NOT TARGET unit-tests)
  add_custom_target(unit-tests)
endif()
function(stagewright_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unit)
  target_link_libraries(${name} PRIVATE stagewright-options ${ARG_LINK} GTest::gtest GTest::gtest_main)
  stagewright_reuse_headers(${name} test)
  stagewright_compile_quickly(${name})
  add_test(NAME ${name} COMMAND ${name})
  add_dependencies(unit-tests ${name})
endfunction()
