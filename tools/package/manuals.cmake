# SPDX-License-Identifier: Apache-2.0
# The API reference, in docs/ of the build directory.
find_package(Doxygen QUIET)
find_package(Python3 3.9 COMPONENTS Interpreter)
if(DOXYGEN_FOUND AND Python3_FOUND)
  set(BERT_INFER_DOCS ${PROJECT_BINARY_DIR}/docs)
  configure_file(${PROJECT_SOURCE_DIR}/docs/api/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E make_directory ${BERT_INFER_DOCS}
                         COMMAND Doxygen::doxygen ${PROJECT_BINARY_DIR}/Doxyfile VERBATIM)
endif()

# Man pages, and completion for the shells, are what the programs say of themselves.
set(manuals ${PROJECT_BINARY_DIR}/manuals)
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING AND NOT BERT_INFER_SANITIZE)
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE program_files)
  file(GLOB scripts CONFIGURE_DEPENDS manuals/*.py)
  add_custom_command(OUTPUT ${manuals}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manuals}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/manuals/make_manuals.py
            ${manuals}/share ${program_files}
    COMMAND ${CMAKE_COMMAND} -E touch ${manuals}/made
    DEPENDS ${programs} ${scripts} COMMENT "Man pages and completions" VERBATIM)
  add_custom_target(manuals ALL DEPENDS ${manuals}/made)
endif()
