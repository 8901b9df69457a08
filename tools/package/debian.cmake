# SPDX-License-Identifier: Apache-2.0
#
# Debian packages by CPack, split as Debian does. tools/package/make makes them.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT DPKG_SHLIBDEPS OR NOT CMAKE_LIBRARY_ARCHITECTURE OR NOT BUILD_SHARED_LIBS)
  return()
endif()
install_parts(debian- lib/${CMAKE_LIBRARY_ARCHITECTURE} lib/python3/dist-packages EXCLUDE_FROM_ALL)

set(BERT_INFER_MAINTAINER "bert-infer maintainers <maintainers@bert-infer.invalid>" CACHE STRING
    "Maintainer of the Debian packages, as NAME <ADDRESS>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bert-infer)
set(CPACK_PACKAGE_VENDOR bert-infer)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${BERT_INFER_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
get_target_property(soversion bert_infer SOVERSION)
set(library_package libbert-infer${soversion})
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/debian)

# The package of a component: debian_package(PART NAME SECTION SUMMARY DESCRIPTION)
macro(debian_package part name section summary description)
  list(APPEND CPACK_COMPONENTS_ALL debian-${part})
  string(TOUPPER debian-${part} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "BERT encoder inference - ${summary}
An unmodified Hugging Face directory goes in; logits, embeddings, hidden
states, entities or answers come out, computed on the CPU.
.
${description}")
  install(CODE "
set(documents \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/${name}\")
set(version ${version})
set(maintainer \"${BERT_INFER_MAINTAINER}\")
set(source \"${PROJECT_SOURCE_DIR}\")
include(\"${folder}/documents.cmake\")" COMPONENT debian-${part} EXCLUDE_FROM_ALL)
endmacro()

debian_package(library ${library_package} libs "shared library"
  "This is the library that programs in C++ and C are linked with.")
# What packages depend on that are linked with it.
file(WRITE ${PROJECT_BINARY_DIR}/package/shlibs
     "libbert_infer ${soversion} ${library_package} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_DEBIAN-LIBRARY_PACKAGE_CONTROL_EXTRA
    ${folder}/triggers ${PROJECT_BINARY_DIR}/package/shlibs)
# The dictionary is for Japanese models.
set(CPACK_DEBIAN_DEBIAN-LIBRARY_PACKAGE_SUGGESTS "bert-infer, mecab-ipadic-utf8")
# What is linked with the library statically too: it loads Oniguruma by itself.
foreach(part LIBRARY TOOLS)
  set(CPACK_DEBIAN_DEBIAN-${part}_PACKAGE_DEPENDS libonig5)
endforeach()

debian_package(development libbert-infer-dev libdevel "development files"
  "These are the headers for C++ and C, the static library, and the files for
pkg-config and CMake.")
set(CPACK_DEBIAN_DEBIAN-DEVELOPMENT_PACKAGE_DEPENDS
    "${library_package} (= ${version}), libdnnl-dev, libsentencepiece-dev, libdeflate-dev, libspdlog-dev")
set(CPACK_DEBIAN_DEBIAN-DEVELOPMENT_PACKAGE_SUGGESTS bert-infer)

debian_package(tools bert-infer science "programs and demo model"
  "These are the programs: bert-infer for texts, files and pipes, bert-serve for
HTTP, and others to convert, time and check models; with a small demo model.")

# Only for Debian's own Python.
if(BERT_INFER_PYTHON AND Python_EXECUTABLE MATCHES "^/usr/bin/python3")
  find_package(Python COMPONENTS Interpreter)
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  debian_package(python python3-bert-infer python "Python 3 package"
    "This is the Python package, under the names that users of
sentence-transformers and transformers know.")
  set(CPACK_DEBIAN_DEBIAN-PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy, libonig5")
  set(CPACK_DEBIAN_DEBIAN-PYTHON_PACKAGE_RECOMMENDS bert-infer)
  set(CPACK_DEBIAN_DEBIAN-PYTHON_PACKAGE_CONTROL_EXTRA ${folder}/postinst ${folder}/prerm)
endif()
include(CPack)
