"""Guards: what users of Bookprint see, recorded in files that these tests compare with.

Refactorings change none of it. They ask the service by HTTP, the program by its command line and the database by
its tools, so they know little of the modules within.

| guard | file | what it holds |
|---|---|---|
| `openapi` | `openapi.json` | the OpenAPI document of a service that asks for keys |
| `problems` | `problems.json` | each kind of problem and each remedy of a field, in an answer |
| `help` | `help.txt` | `--help` of every command |
| `schema` | `schema.sql` | the tables after all migrations, as `pg_dump -s` writes them |
| `files` | `made_files.txt`, `real_files.txt` | digests of what is read from made files and from BOOKPRINT_FORMATS |
| `library` | `library.json` | what a library of 60 made books answers |

`make guards` writes all of the files anew, and `make guards ARGS="help schema"` those of two guards. What it changed
is for `git diff` to show. A change that nobody meant is a fault; one that was meant is committed with its cause.
"""
