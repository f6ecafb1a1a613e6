# `make demo` and `make test` are the two commands of the README. Each makes its own .venv if there
# is none, from nothing but Python 3.11 and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
SPARK_CLASSES := $(VENV)/spark-classes.jsa
# Where the environment forbids Python to keep what it has compiled, each of the thousands of processes
# that the tests start compiles all of mqkit anew: 0.7 s each, and 20 s for the test modules.
unexport PYTHONDONTWRITEBYTECODE
QUICK_JVM := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
PARTS  := mqkit reference_broker cli/mqkit_cli spark/mqkit_spark spark/pyspark_mqkit bench/mqkit_bench fuzz interop mutants website tests examples

.DEFAULT_GOAL := help
.PHONY: help install demo test docs check format lint types imports tests-fast sim mutants soak chaos drift lots archives migration spark-sink spark-stream effects clock sync bench bench-store interop interop-cluster fuzz clean

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mqkit needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say which one: make PYTHON=python3.11 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing mqkit and what it needs into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

install: $(STAMP)  ## make .venv with everything in it

demo: $(STAMP)  ## the whole product on 20,000 real flight records, with its ledger
	@$(BIN)/mqkit demo

check: $(STAMP) format lint types imports tests-fast  ## the fast part of the tests, for daily work (under two minutes)

# Some forty JVMs start for the tests: an archive of their classes spares each a third of its CPU.
$(SPARK_CLASSES): $(STAMP)
	@echo "archiving Spark's classes for the tests (a minute, once)"
	@SPARK_SUBMIT_OPTS="$(QUICK_JVM)" $(BIN)/python -m tests.spark_classes $@ > $(VENV)/spark-classes.log 2>&1 \
		|| echo "no archive, see $(VENV)/spark-classes.log: the tests take longer"

test: $(STAMP) $(SPARK_CLASSES) format lint types imports  ## everything: format, lint, types, import rules, all tests
	@$(BIN)/python -m pytest -n 3 --dist worksteal

docs: $(STAMP)  ## docs/ as a site, strictly, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

format:
	@$(BIN)/ruff format --check --quiet $(PARTS) || { echo "run: $(BIN)/ruff format $(PARTS)"; exit 1; }

lint:
	@$(BIN)/ruff check --quiet $(PARTS)

types:
	@$(BIN)/mypy

imports:
	@$(BIN)/lint-imports --no-logo > .import-linter.log 2>&1 || { cat .import-linter.log; exit 1; }

tests-fast:
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --ignore tests/acceptance \
		-m 'not live and not slow and not spark and not rabbitmq'

sim: $(STAMP)  ## the simulator: 1,000 seeds of one broker, 300 of several nodes (SEEDS=n, CLUSTER_SEEDS=n)
	@$(BIN)/python -m reference_broker.simulation --seeds $${SEEDS:-1000}
	@$(BIN)/python -m reference_broker.simulation.cluster --seeds $${CLUSTER_SEEDS:-300}

mutants: $(STAMP)  ## planted bugs, each played by the simulator until a law finds it; goes on where it was (NAMES="store. runs.", SEEDS=200; long)
	@$(BIN)/python -m mutants $(NAMES) --seeds $(or $(SEEDS),200)

bench: $(STAMP)  ## brokers and clients side by side: the README's tables and plot, in bench-results/ (needs rabbitmq-server; long)
	@mkdir -p bench-results
	@$(BIN)/mqkit bench broker --json bench-results/broker.json
	@$(BIN)/mqkit bench latency --json bench-results/latency.json
	@$(BIN)/mqkit bench growth --json bench-results/growth.json
	@$(BIN)/mqkit bench footprint --json bench-results/footprint.json
	@$(BIN)/mqkit bench client --json bench-results/client.json
	@$(BIN)/mqkit bench stalls --json bench-results/stalls.json
	@$(BIN)/mqkit bench startup
	@$(BIN)/mqkit bench plot bench-results/broker.json bench-results/client.json bench-results/growth.json --out bench-results/bench.svg

bench-store: $(STAMP)  ## the store at full size: 10M messages, 2 GiB from disk, 1,000 stuck segments (long)
	@$(BIN)/mqkit bench backlog --queues 1 --queues 1000
	@$(BIN)/mqkit bench drain
	@$(BIN)/mqkit bench stuck

interop: $(STAMP)  ## other people's suites and 2,000 generated sequences, on both brokers (SEED=n to replay; long)
	@$(BIN)/python -m interop $${SEED:+--seed $$SEED}

interop-cluster: $(STAMP)  ## tests/acceptance and other people's suites once more, with the queues at another node than the clients (long)
	@$(BIN)/python -m pytest -q --on-cluster tests/acceptance
	@$(BIN)/python -m interop cluster

fuzz: $(STAMP)  ## Atheris over all that reads bytes, and the long Hypothesis run (FUZZ_SECONDS=n a target; 60)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	@$(BIN)/python -m fuzz --seconds $${FUZZ_SECONDS:-60} $${FUZZ_SEED:+--seed $$FUZZ_SEED}
	@MQKIT_FUZZ_EXAMPLES=$$(( $${FUZZ_SECONDS:-60} * 20 )) $(BIN)/python -m pytest -q --timeout 0 tests/fuzz/machine/test_machine.py

soak: $(STAMP)  ## kill -9 under load, 200 rounds (MQKIT_KILL_ROUNDS=n); churn, 500,000 operations (MQKIT_CHURN_OPERATIONS=n)
	@MQKIT_KILL_ROUNDS=$${MQKIT_KILL_ROUNDS:-200} $(BIN)/python -m pytest -q -s tests/acceptance/test_kill.py
	@MQKIT_CHURN_OPERATIONS=$${MQKIT_CHURN_OPERATIONS:-500000} $(BIN)/python -m pytest -q -s tests/acceptance/test_churn.py

chaos: $(STAMP)  ## an app under faults, on both brokers and both transports, 30 minutes each (SECONDS=60 for less, SEED=n to replay)
	@failed=0; for broker in reference rabbitmq; do for transport in native aio-pika; do \
		$(BIN)/python -m interop.chaos --broker $$broker --transport $$transport \
			--seconds $(or $(SECONDS),1800) $(if $(SEED),--seed $(SEED)) || failed=1; \
	done; done; exit $$failed

drift: $(STAMP)  ## changes by hand beside a running app, on both brokers, seen over AMQP and with the management API, 10 minutes each (SECONDS=60 for less, SEED=n)
	@failed=0; for broker in reference rabbitmq; do for look in amqp management; do \
		$(BIN)/python -m interop.drift --broker $$broker --look $$look --policies \
			--seconds $(or $(SECONDS),600) --quiet $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) || failed=1; \
	done; done; exit $$failed

lots: $(STAMP)  ## parking lots by the clock: three processes, their leader killed ten times, on both brokers (KILLS=n, SEED=n)
	@failed=0; for broker in reference rabbitmq; do \
		$(BIN)/python -m interop.leaders --broker $$broker --kills $(or $(KILLS),10) \
			$(if $(SEED),--seed $(SEED)) || failed=1; \
	done; exit $$failed

archives: $(STAMP)  ## a lot of 100,000 archived, restored and replayed by processes that are killed, on both brokers (MESSAGES=n, KILLS=n, SEED=n; long)
	@failed=0; for broker in reference rabbitmq; do \
		$(BIN)/python -m interop.archives --broker $$broker --messages $(or $(MESSAGES),100000) \
			--kills $(or $(KILLS),20) $(if $(SEED),--seed $(SEED)) || failed=1; \
	done; exit $$failed

migration: $(STAMP)  ## queues migrated by processes that are killed, on both brokers, 200 kills each (KILLS=n, SEED=n; long)
	@failed=0; for broker in reference rabbitmq; do \
		$(BIN)/python -m interop.migration --broker $$broker --kills $(or $(KILLS),200) \
			$(if $(SEED),--seed $(SEED)) || failed=1; \
	done; exit $$failed

# As in tests/conftest.py.
SHORT_LIVED_JVM := $(QUICK_JVM) -XX:SharedArchiveFile=$(abspath $(SPARK_CLASSES)) -Xlog:disable -Xlog:all=error:stderr
spark-sink spark-stream: export SPARK_DAEMON_JAVA_OPTS = $(SHORT_LIVED_JVM)
spark-sink spark-stream: export SPARK_SUBMIT_OPTS = $(SHORT_LIVED_JVM) -Dspark.executor.extraJavaOptions="$(SHORT_LIVED_JVM)"

spark-sink: $(STAMP) $(SPARK_CLASSES)  ## the Spark sink under failing tasks, killed workers, speculation and killed drivers, on both brokers (ROUNDS=n, SEED=n; long)
	@failed=0; for broker in reference rabbitmq; do \
		for kind in failing-task killed-worker speculation killed-driver; do \
			$(BIN)/python -m interop.spark_sink --broker $$broker --kind $$kind \
				--rounds $(or $(ROUNDS),20) $(if $(SEED),--seed $(SEED)) || failed=1; \
		done; \
	done; exit $$failed

spark-stream: $(STAMP) $(SPARK_CLASSES)  ## a queue into Parquet files while driver, workers and broker are killed (MESSAGES=n, KILLS=n, SEED=n; long)
	@failed=0; for more in "" "--speculation" "--mode driver"; do \
		$(BIN)/python -m interop.spark_stream $$more --messages $(or $(MESSAGES),200000) \
			--kills $(or $(KILLS),20) $(if $(SEED),--seed $(SEED)) || failed=1; \
	done; exit $$failed

effects: $(STAMP)  ## 100,000 orders through outbox, broker and inbox, each killed for ten minutes, on both brokers (ORDERS=n, SECONDS=n, SEED=n)
	@failed=0; for broker in reference rabbitmq; do \
		$(BIN)/python -m interop.effects --broker $$broker --orders $(or $(ORDERS),100000) \
			--seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) || failed=1; \
	done; exit $$failed

clock: $(STAMP)  ## tiers, a time to live, a delay and a timeout by the virtual clock of tests, through three clients (TIMES=n)
	@$(BIN)/python -m interop.virtual_time --times $(or $(TIMES),1000)

sync: $(STAMP)  ## a site under gunicorn publishes while its broker is killed five times, on both brokers, 60 s each (SECONDS=n, RESTARTS=n)
	@failed=0; for broker in reference rabbitmq; do \
		$(BIN)/python -m interop.sync --broker $$broker --seconds $(or $(SECONDS),60) \
			--restarts $(or $(RESTARTS),5) || failed=1; \
	done; exit $$failed

clean:  ## remove what the other targets made
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .import-linter.log
