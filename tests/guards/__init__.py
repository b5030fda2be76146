"""Guards: what users of Bookprint see, recorded in files that these tests compare with.

Refactorings change none of it. The tests ask the service by HTTP, the program by its command line and the
database by its tools, so they know little of the modules within.

- `openapi`: `openapi.json`, the OpenAPI document of a service that asks for keys
- `problems`: `problems.json`, an answer with each kind of problem and each remedy
- `help`: `help.txt`, `--help` of every command
- `schema`: `schema.sql`, the tables after all migrations, as `pg_dump -s` writes them
- `files`: `made_files.txt` and `real_files.txt`, digests of what is read from files, the real ones those of
  BOOKPRINT_FORMATS
- `library`: `library.json`, what a library of 60 made books answers

`make guards` writes all of the files anew, and `make guards ARGS="help schema"` those of two guards.
`git diff` shows what has changed. A change that nobody meant is a fault; one that was meant is committed
with its cause.
"""
