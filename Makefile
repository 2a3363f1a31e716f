# The workspace's commands. Each says what is missing, sets it up, and is quick to repeat.
.PHONY: help setup build demo test lint bench clean
SHELL := /bin/bash
RUN := tools/run

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

setup:  ## ROS 2 Jazzy and the Python packages (about a minute, once per machine)
	@tools/bare_ros/setup.sh

build: setup  ## build what changed with colcon
	@$(RUN) python tools/build.py

demo: build  ## clean every edge of the torture course in a real ROS 2 graph
	@$(RUN) python -m oomwoo_clean.demo

test: build  ## run every test with colcon test; end with the sum
	@$(RUN) python tools/test.py

lint: setup  ## ruff, and flake8 and pep257 as ROS has them
	@$(RUN) python tools/lint.py

bench: build  ## measure what docs/measured.md states
	@$(RUN) python tools/bench.py

clean:  ## remove what was built (the prefix in the cache stays)
	@rm -rf build install log out
