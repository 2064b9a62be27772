"""Statements and assignment: branches are joined, a loop's body runs once with its changing names as symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.callpaths.conditions import consequences
from conformance.callpaths.frames import Closure, Frame, Left, TooLarge
from conformance.callpaths.machine import MUTABLE, Machine, Outside, as_value
from conformance.callpaths.trace import Join, Literal, LoopSeen
from conformance.callpaths.values import Value, truth_of
from conformance.facts import ir
from conformance.facts.ir import Expr, Function

_MAX_STEPS = 400_000
"""Most statements that one entry may run, expanded calls included."""
_MAX_SIDE_STEPS = 20_000
"""The same for what is run on the side: for attributes, gates, or the use of a parameter."""

_TELLS = frozenset({"debug", "info", "warning", "warn", "error", "warning_once", "info_once", "print", "deprecate"})


class Statements(Machine):
    """A part of the interpreter."""

    def _block(self, block: ir.Block, frame: Frame) -> bool:
        """Runs statements; False when control never reaches the end."""
        for index, statement in enumerate(block):
            self._steps += 1
            if self._steps > (_MAX_STEPS if self._trace is not None else _MAX_SIDE_STEPS):
                raise TooLarge
            self._excluded = False
            frame.line = statement.span.line if isinstance(statement, ir.For) else statement.line
            if self._trace is not None:
                self._called = len(self._trace.calls)
            if not _RUN[type(statement)](self, statement, frame):
                if self._excluded and index + 1 < len(block):
                    self._run_dead(block[index + 1 :], frame)
                return False
        return True

    def _assign_statement(self, statement: ir.Assign, frame: Frame) -> bool:
        self._usage = _usage_of(statement.targets[0]) if len(statement.targets) == 1 else "other"
        value = self.eval(statement.value, frame)
        if statement.augmented and self._grow_in_place(statement, value, frame):
            return True
        for target in statement.targets:
            self._assign(target, value, frame, statement.line)
            if type(target) is ir.Name:
                if type(statement.value) is ir.Call:
                    frame.copies.add(target.id)
                else:
                    frame.copies.discard(target.id)
        if value.op in MUTABLE:
            self._note_aliases(statement, frame)
        return True

    def _grow_in_place(self, statement: ir.Assign, value: Value, frame: Frame) -> bool:
        """`x += y` of a list: it stays the same object."""
        target = statement.targets[0]
        before = frame.env.get(target.id) if type(target) is ir.Name else None
        if before is None or before.op not in ("list", "grown") or type(statement.value) is not ir.Op:
            return False
        self._note_change(target, before, "extend", value, frame, statement.line)
        self._replace(target, value, frame, statement.line)
        return True

    def _note_aliases(self, statement: ir.Assign, frame: Frame) -> None:
        """`y = x`: one dict under two names; `self.y = x`: one that others reach."""
        names = [target.id for target in statement.targets if isinstance(target, ir.Name)]
        if isinstance(statement.value, ir.Name):
            names.append(statement.value.id)
            if len(names) == 1:
                self._escape(names[0], frame)
        elif isinstance(statement.value, ir.Attr | ir.Item):
            for name in names:
                self._escape(name, frame)
        if len(names) > 1:
            group = set(names).union(*(frame.aliases.get(name, ()) for name in names))
            for name in group:
                frame.aliases[name] = group

    def _evaluate_statement(self, statement: ir.Evaluate, frame: Frame) -> bool:
        self._usage = "dropped"
        quiet, self._quiet = self._quiet, self._quiet or _only_logs((statement,))
        self.eval(statement.value, frame)
        self._quiet = quiet
        return True

    def _if_statement(self, statement: ir.If, frame: Frame) -> bool:
        self._usage = "other"
        seen = self._watched[1] if self._watched is not None else False
        test = self.eval(statement.test, frame)
        if self._watched is not None and not statement.orelse and _only_logs(statement.body):
            self._watched[1] = seen  # a parameter that decides only on a warning has no effect
        known = self._truth(test)
        if known is not None:
            live, dead = (statement.body, statement.orelse) if known else (statement.orelse, statement.body)
            explore = frame.nested and not self._building
            if dead and explore:
                self._run_dead(dead, frame)
            if self._block(live, frame):
                return True
            # What follows is for the other side only, `else` or not.
            self._excluded = explore
            return False
        branch = self._next()
        mark = len(self._conditions)
        env, heap = frame.env, self._heap
        frame.env, self._heap = dict(env), dict(heap)
        self._push(test, True, branch)
        calls, outside = self._count_calls(), len(self._outside)
        alive_body = self._block(statement.body, frame)
        outside_body = self._rewind(outside, frame)
        calls_between = self._count_calls()
        extra_body = self._conditions[mark:]
        env_body, heap_body = frame.env, self._heap
        self._truncate(mark)
        frame.env, self._heap = env, heap
        self._push(test, False, branch)
        alive_else = self._block(statement.orelse, frame)
        outside_else = self._rewind(outside, frame)
        extra_else = self._conditions[mark:]
        self._truncate(mark)
        if not alive_body and not alive_else:
            return False
        if not alive_body:
            self._redo(outside_else)
            self._extend(extra_else, guard=None if _leaves(statement.body) else branch)
            return True
        if not alive_else:
            self._redo(outside_body)
            frame.env, self._heap = env_body, heap_body
            self._extend(extra_body, guard=None if _leaves(statement.orelse) else branch)
            return True
        self._redo(self._either(test, outside_body, outside_else))
        env_else, heap_else = frame.env, self._heap
        frame.env = self._join(test, env_body, env_else)
        self._heap = self._join_heap(test, heap_body, heap_else)
        if calls < calls_between < self._count_calls():
            self._note_join(branch, env_body, env_else, heap_body, heap_else, frame)
        if (_has_more(extra_body, branch) and _leaves(statement.body)) or (
            _has_more(extra_else, branch) and _leaves(statement.orelse)
        ):
            # Some of a side left early: what is left is either side with what it has survived.
            first = self.values.all_of(as_value(self.values, c) for c in extra_body)
            second = self.values.all_of(as_value(self.values, c) for c in extra_else)
            self._push(self.values.any_of((first, second)), True, self._next())
        return True

    def _note_join(
        self,
        branch: int,
        env_body: dict[str, Value],
        env_else: dict[str, Value],
        heap_body: dict[tuple[Value, str], Value],
        heap_else: dict[tuple[Value, str], Value],
        frame: Frame,
    ) -> None:
        """Both sides of a test run blocks: what differs after them is noted."""
        if self._trace is None or self._dead:
            return
        joined = {
            (frame.serial, name): value
            for name, value in frame.env.items()
            if env_body.get(name) is not env_else.get(name)
        }
        for key, value in self._heap.items():
            if heap_body.get(key) is not heap_else.get(key):
                joined[(0, f"{key[0].text}.{key[1]}")] = value
        if joined:
            self._trace.joins[branch] = Join(frame.serial, joined)

    def _run_dead(self, block: ir.Block, frame: Frame) -> None:
        """Runs a branch that the present arguments exclude, only to see the calls in it."""
        env, heap, returns = frame.env, self._heap, len(frame.returns)
        frame.env, self._heap = dict(env), dict(heap)
        mark, outside = len(self._conditions), len(self._outside)
        self._dead += 1
        self._block(block, frame)
        self._dead -= 1
        self._truncate(mark)
        self._rewind(outside, frame)
        frame.env, self._heap = env, heap
        del frame.returns[returns:], frame.returned[returns:]

    def _join(self, test: Value, first: dict[Any, Value], second: dict[Any, Value]) -> dict[Any, Value]:
        result = dict(second)
        for key, value in first.items():
            other = second.get(key)
            if other is None:
                result[key] = self.values.phi(test, value, self.values.make("unbound", key))
            elif other is not value:
                result[key] = self.values.phi(test, value, other)
        for key, value in second.items():
            if key not in first:
                result[key] = self.values.phi(test, self.values.make("unbound", key), value)
        return result

    def _join_heap(
        self, test: Value, first: dict[tuple[Value, str], Value], second: dict[tuple[Value, str], Value]
    ) -> dict[tuple[Value, str], Value]:
        """Joins attributes: the side that doesn't set one leaves what it was."""
        first, second = dict(first), dict(second)
        for key in first.keys() ^ second.keys():
            base, name = key
            kept = self.values.make("unbound", name) if self._building else self.values.make("attr", base, name)
            (second if key in first else first)[key] = kept
        return self._join(test, first, second)

    def _for_statement(self, statement: ir.For, frame: Frame) -> bool:
        self._usage = "iterated"
        iterable = self._iterable(statement.iterable, frame)
        loop = self._next()
        if self._trace is not None:
            self._trace.loops.append(LoopSeen(loop, self._site(frame, statement.span), iterable))
        before = self._enter_loop(statement, loop, frame)
        loops = len(frame.loops)
        if not _is_single(iterable):
            frame.loops.append(loop)
        mark = len(self._conditions)
        self._assign(statement.target, self.iterate(iterable, loop), frame, statement.span.line, is_target=True)
        self._iteration(statement.body, mark, frame)
        del frame.loops[loops:]
        self._leave_loop(statement, loop, before, frame)
        return self._loop_else(statement.body, statement.orelse, frame)

    def _iteration(self, body: ir.Block, mark: int, frame: Frame) -> None:
        """One iteration: what reaches the end of the body is joined with what each `continue` leaves."""
        frame.continues.append([])
        calls, outside = self._count_calls(), len(self._outside)
        alive = self._block(body, frame)
        after = self._rewind(outside, frame)
        decided = {(c.branch, c.value): c.holds for c in self._conditions[mark:]}
        self._truncate(mark)
        for left in reversed(frame.continues.pop()):
            test = self.values.all_of(as_value(self.values, c) for c in left.conditions[mark:])
            after = self._either(test, left.outside, after)
            if left.is_last:
                continue
            if not alive:
                frame.env, self._heap, alive = left.env, left.heap, True
                continue
            env, heap = frame.env, self._heap
            frame.env = self._join(test, left.env, env)
            self._heap = self._join_heap(test, left.heap, heap)
            parting = [c for c in left.conditions[mark:] if decided.get((c.branch, c.value), c.holds) is not c.holds]
            if parting and calls < left.called < self._count_calls():
                self._note_join(parting[0].branch, left.env, env, left.heap, heap, frame)
        self._redo(after)

    def _loop_else(self, body: ir.Block, orelse: ir.Block, frame: Frame) -> bool:
        """The `else` of a loop: skipped where the loop may be left by a `break`."""
        if not orelse:
            return True
        if not _breaks(body):
            return self._block(orelse, frame)
        mark = len(self._conditions)
        env, heap = dict(frame.env), dict(self._heap)
        finished = self.values.make("finished", self._next())
        self._push(finished, True, self._next())
        alive = self._block(orelse, frame)
        self._truncate(mark)
        if alive:
            frame.env = self._join(finished, frame.env, env)
            self._heap = self._join_heap(finished, self._heap, heap)
        else:
            frame.env, self._heap = env, heap
        return True

    def _while_statement(self, statement: ir.While, frame: Frame) -> bool:
        loop = self._next()
        before = self._enter_loop(statement, loop, frame)
        frame.loops.append(loop)
        mark = len(self._conditions)
        self._usage = "other"
        test = self.eval(statement.test, frame)
        if self._truth(test) is None:
            self._push(test, True, self._next())
        self._iteration(statement.body, mark, frame)
        frame.loops.pop()
        self._leave_loop(statement, loop, before, frame)
        return self._loop_else(statement.body, statement.orelse, frame)

    def _enter_loop(
        self, statement: ir.For | ir.While, loop: int, frame: Frame
    ) -> tuple[dict[str, Value], dict[Any, Value]]:
        env, heap = frame.env, self._heap
        frame.env, self._heap = dict(env), dict(heap)
        for name in statement.changed:
            head, _, attribute = name.partition(".")
            if attribute:
                base = frame.env.get(head)
                if base is not None:
                    old = heap.get((base, attribute), self.values.make("attr", base, attribute))
                    self._heap[(base, attribute)] = self._mu(loop, name, old)
            elif head in env:
                carried = frame.env[head] = self._mu(loop, head, env[head])
                if head in statement.kept and carried is not env[head]:
                    self.values.kept[carried] = self.values.kept.get(env[head], env[head])
                length = self._length(env[head]) if env[head].op in ("tuple", "mu", "out", "state") else None
                if length is not None:
                    frame.states[head] = length
        return env, heap

    def _mu(self, loop: int, name: str, before: Value) -> Value:
        if before.op in ("many", "self") or _is_filled(before):
            return before  # a container that is filled in the loop stays itself
        if before.op == "list":
            return self.values.make("grown", before, ())
        carried = self.values.make("mu", loop, name, before)
        if "." not in name:
            self._flags[(loop, name)] = (carried, [])
        return carried

    def _leave_loop(
        self,
        statement: ir.For | ir.While,
        loop: int,
        before: tuple[dict[str, Value], dict[Any, Value]],
        frame: Frame,
    ) -> None:
        env, heap = dict(before[0]), dict(before[1])
        for name in statement.changed:
            head, _, attribute = name.partition(".")
            if attribute:
                base = frame.env.get(head)
                if base is None:
                    continue
                key = (base, attribute)
                after = self._heap.get(key)
                if after is not None:
                    self._note_carried(loop, name, after)
                    heap[key] = self._out(loop, name, heap.get(key), after)
            else:
                after = frame.env.get(head)
                if after is not None:
                    self._note_carried(loop, head, after)
                    old = env.get(head)
                    left = env[head] = self._out(loop, head, old, after)
                    if old is not None and left is not old and head in statement.kept:
                        self.values.kept[left] = self.values.kept.get(old, old)
        frame.env, self._heap = env, heap
        if self._flags:
            self._settle_flags(loop, statement.changed, env)

    def _note_carried(self, loop: int, name: str, after: Value) -> None:
        if self._trace is not None:
            self._trace.left[(loop, name)] = after
            if after.op == "phi":
                self._trace.carried[(loop, name)] = after

    def _out(self, loop: int, name: str, before: Value | None, after: Value) -> Value:
        if before is after or _is_filled(after):
            return after
        if loop not in after.loops and before is None:
            return after
        return self.values.make("out", loop, name, before if before is not None else self.values.absent)

    def _try_statement(self, statement: ir.Try, frame: Frame) -> bool:
        env, heap = frame.env, self._heap
        frame.env, self._heap = dict(env), dict(heap)
        mark = len(self._conditions)
        failed = self.values.make("raises", self._next())
        stopped = self.values.make("stopped", self._next())  # where in its body it was left
        branch = self._next()
        if statement.handlers:
            frame.failures.append(failed)
        outside = len(self._outside)
        alive = self._block(statement.body, frame)
        if statement.handlers:
            frame.failures.pop()
        if alive and statement.orelse:
            alive = self._block(statement.orelse, frame)
        env_body, heap_body = frame.env, self._heap
        extra = self._conditions[mark:]
        self._truncate(mark)
        body = after = self._rewind(outside, frame)
        result_env, result_heap, any_alive = env_body, heap_body, alive
        for handler in statement.handlers:
            # The body may have stopped anywhere: either state reaches the handler.
            frame.env = self._join(stopped, env, env_body)
            self._heap = self._join_heap(stopped, heap, heap_body)
            self._redo(self._either(stopped, {}, body))
            self._push(failed, True, branch)
            handler_alive = self._block(handler, frame)
            self._truncate(mark)
            handled = self._rewind(outside, frame)
            if handler_alive:
                after = self._either(failed, handled, after) if any_alive else handled
                if any_alive:
                    result_env = self._join(failed, frame.env, result_env)
                    result_heap = self._join_heap(failed, self._heap, result_heap)
                else:
                    result_env, result_heap, any_alive = frame.env, self._heap, True
                    extra = []
        self._redo(after)
        frame.env, self._heap = result_env, result_heap
        if any_alive and alive and not statement.handlers:
            self._extend(extra)
        if statement.final and not self._block(statement.final, frame):
            return False
        return any_alive

    def _with_statement(self, statement: ir.With, frame: Frame) -> bool:
        mark = len(self._conditions)
        opened = len(self._contexts)
        no_grad = False
        for context, target in statement.items:
            self._usage = "other"
            value = self.eval(context, frame)
            if target is not None:
                self._assign(
                    target, self.values.make("item", value, self.values.const("entered")), frame, statement.line
                )
            self._enter_context(value)
            called = value.args[0] if value.op in ("call", "inst") else value
            if called.op == "ref" and called.args[0] in self._grad_off:
                no_grad = True
        if no_grad:
            for grad in self._grad_on:
                self._push(grad, False, self._next())
        inner = len(self._conditions)
        alive = self._block(statement.body, frame)
        del self._contexts[opened:]
        extra = self._conditions[inner:]
        if no_grad:
            self._truncate(mark)
            self._extend(extra)
        return alive

    def _return_statement(self, statement: ir.Return, frame: Frame) -> bool:
        self._usage = frame.usage
        frame.leaving = True
        value = self.values.none if statement.value is None else self.eval(statement.value, frame)
        frame.leaving = False
        conditions = tuple(self._conditions[frame.condition_mark :])
        conditions = (*conditions, *(Literal(failed, False, 0) for failed in frame.failures))
        if frame.loops:
            # Which iteration returns isn't known.
            conditions = (*conditions, Literal(self.values.make("iteration", self._next()), True, self._next()))
        frame.returns.append((conditions, value))
        frame.returned.append(self._now(frame))
        return False

    def _now(self, frame: Frame) -> Outside:
        """What names of other frames are by now that the running function has changed."""
        changed = {(owner, name) for owner, name, _ in self._outside[frame.outside_mark :] if owner is not frame}
        return {(owner, name): owner.env.get(name) for owner, name in changed}

    def _raise_statement(self, statement: ir.Raise, frame: Frame) -> bool:
        return False

    def _jump_statement(self, statement: ir.Jump, frame: Frame) -> bool:
        if frame.continues and not self._dead:
            is_last = statement.kind == "break"
            env, heap = ({}, {}) if is_last else (dict(frame.env), dict(self._heap))
            left = Left(tuple(self._conditions), env, heap, self._count_calls(), self._now(frame), is_last)
            frame.continues[-1].append(left)
        if statement.kind == "break" and frame.loops and frame.captures:
            # What always leads here has no next iteration.
            loop, here = frame.loops[-1], set(self._conditions)
            frame.captures[:] = [
                capture._replace(loops=capture.loops[:-1])
                if capture.loops and capture.loops[-1] == loop and here <= set(capture.conditions)
                else capture
                for capture in frame.captures
            ]
        return False

    def _define_statement(self, statement: ir.Define, frame: Frame) -> bool:
        # A decorated nested function is taken for the function: the decorators that models use run its body.
        self._bind(statement.function.name, self._closure(statement.function, frame), frame, statement.line)
        return True

    def _closure(self, function: Function, frame: Frame) -> Value:
        defaults = {}
        for parameter in function.parameters:
            if parameter.default is not None:
                self._usage = "other"
                defaults[parameter.name] = self.eval(parameter.default, frame)
        return self.values.make("closure", Closure(function, frame, defaults))

    def _delete_statement(self, statement: ir.Delete, frame: Frame) -> bool:
        for name in statement.names:
            frame.env.pop(name, None)
            if name in frame.captured:
                self._note_binding(name, None, frame, statement.line, False)
        return True

    def _assert_statement(self, statement: ir.Assert, frame: Frame) -> bool:
        self._usage = "other"
        test = self.eval(statement.test, frame)
        if self._truth(test) is None:
            self._push(test, True, self._next())
        return True

    def _import_statement(self, statement: ir.Import, frame: Frame) -> bool:
        for name, imported in statement.bindings:
            if name != "*":
                value = self._definition(self.project.imported(imported, frame.module.path))
                self._bind(name, value, frame, statement.line)
        return True

    def _assign(self, target: Expr, value: Value, frame: Frame, line: int, is_target: bool = False) -> None:
        if isinstance(target, ir.Name):
            self._bind(target.id, value, frame, line, is_target)
        elif isinstance(target, ir.Display):
            for item, part in zip(target.items, self._unpack(value, target.items), strict=True):
                self._assign(item, part, frame, line, is_target)
        elif isinstance(target, ir.Attr):
            base = self.eval(target.base, frame)
            if self._heap.get((base, target.name)) is not value:
                self._note_effect("set", f"{base.text}.{target.name}", 0, value, frame, line, base)
            self._heap[(base, target.name)] = value
            self._note_store(base, target.name, value, frame)
        elif isinstance(target, ir.Item):
            self._store_item(target, value, frame, line)
        elif isinstance(target, ir.Star):
            self._assign(target.value, value, frame, line, is_target)

    def _bind(self, name: str, value: Value, frame: Frame, line: int, is_target: bool = False) -> None:
        if name in frame.outside:
            self._bind_outside(name, value, frame, line)
            return
        if frame.loops:
            if self._flags:
                self._note_flag(name, value, frame)
            length = frame.states.get(name)
            if length is not None and self._length(value) is None:
                value = self.values.make("state", length, value)
        if name in frame.aliases:
            frame.aliases.pop(name).discard(name)
        is_changed = frame.env.get(name) is not value
        if is_changed and self._conditions and not is_target and frame.function is not None:
            self._note_effect("bind", name, frame.serial, value, frame, line)
        frame.env[name] = value
        if name in frame.captured and (is_changed or is_target):
            self._note_binding(name, value, frame, line, is_target)

    def _note_flag(self, name: str, value: Value, frame: Frame) -> None:
        for loop in frame.loops:
            found = self._flags.get((loop, name))
            if found is not None:
                found[1].append((value, tuple(self._conditions)))

    def _settle_flags(self, loop: int, changed: frozenset[str], after: dict[str, Value]) -> None:
        """What it says of a condition that a loop-carried flag is set: `routing_now` implies `use_routing`.

        A flag is set because it was so before the loop, or because a statement in it has done so.
        """
        for name in changed:
            found = self._flags.pop((loop, name), None)
            if found is None:
                continue
            carried, sets = found
            before = carried.args[2]
            common: set[tuple[Value, bool]] | None = None
            if truth_of(before) is not False:
                common = {*consequences(self.values, before, True), *self.values.implied.get(before, ())}
            for value, conditions in sets:
                if value is carried or truth_of(value) is False:
                    continue
                known = {(c.value, c.holds) for c in conditions}
                known |= consequences(self.values, value, True)
                known = {(part, holds) for part, holds in known if loop not in part.loops}
                common = known if common is None else common & known
                if not common:
                    break
            if common is None:
                common = {(self.values.false, True)}  # it is never set
            if common:
                self.values.implied[carried] = tuple(common)
                out = after.get(name)
                if out is not None and out.op == "out" and out.args[0] == loop:
                    self.values.implied[out] = tuple(common)

    def _bind_outside(self, name: str, value: Value, frame: Frame, line: int) -> None:
        """`nonlocal`: the assignment belongs to an enclosing frame."""
        if frame.function is not None and name in frame.function.globals:
            return
        outer = frame.parent
        while outer is not None:
            if name in outer.env or name in outer.locals:
                if outer.loops:
                    self._note_flag(name, value, outer)
                self._redo({(outer, name): value})
                self._note_binding(name, value, outer, line, False)
                return
            outer = outer.parent

    def _unpack(self, value: Value, targets: tuple[Expr, ...]) -> list[Value]:
        count = len(targets)
        starred = next((i for i, t in enumerate(targets) if type(t) is ir.Star), None)
        items = self._sequence(value)
        if items is not None:
            if starred is None and len(items) == count:
                return items
            if starred is not None and len(items) >= count - 1:
                after = count - starred - 1
                middle = self.values.make("list", *items[starred : len(items) - after])
                return [*items[:starred], middle, *(items[len(items) - after :] if after else ())]
        if value.op == "phi":
            test, body, orelse = value.args
            first, second = self._unpack(body, targets), self._unpack(orelse, targets)
            return [self.values.phi(test, a, b) for a, b in zip(first, second, strict=True)]
        if value.op == "pick":
            parts = [self._unpack(alternative, targets) for alternative in value.args[1]]
            return [self.values.make("pick", value.args[0], alternatives) for alternatives in zip(*parts, strict=True)]
        if starred is not None:
            return self._unpack_starred(value, starred, count)
        return [self.item(value, self.values.const(index)) for index in range(count)]

    def _unpack_starred(self, value: Value, starred: int, count: int) -> list[Value]:
        """`first, *rest, last = value` of unknown length."""
        const = self.values.const
        after = count - starred - 1
        upper = const(-after) if after else None
        rest = self.item(value, self.values.make("slice", const(starred), upper, None))
        heads = [self.item(value, const(index)) for index in range(starred)]
        return [*heads, rest, *(self.item(value, const(index - after)) for index in range(after))]

    def _store_item(self, target: ir.Item, value: Value, frame: Frame, line: int) -> None:
        base = self.eval(target.base, frame)
        index = self.eval(target.key, frame)
        self._note_change(target.base, base, "[]", self.values.make("tuple", index, value), frame, line)
        if base.op == "list" and index.op == "const" and isinstance(index.args[1], int):
            items = self._sequence(base)
            position = index.args[1]
            if items is not None and -len(items) <= position < len(items):
                items[position] = value
                self._replace(target.base, self.values.make("list", *items), frame, line)
                return
        if base.op in ("inst", "grown", "many", "list", "op"):
            changed = self.values.make("grown", base, (value,))
        else:
            changed = self._dict_set(base, index, value)
        self._replace(target.base, changed, frame, line)

    def _replace(self, expression: Expr, value: Value, frame: Frame, line: int) -> None:
        """The object behind a name or an attribute has changed in place."""
        if type(expression) is ir.Name:
            name = expression.id
            owner: Frame | None = frame
            while owner is not None:
                if name in owner.env:
                    self._set_in_place(name, value, owner)
                    return
                owner = owner.parent
        elif type(expression) is ir.Attr:
            base = self.eval(expression.base, frame)
            self._heap[(base, expression.name)] = value
        else:
            # An item of something: what holds it isn't followed that deep.
            while isinstance(expression, ir.Item | ir.Attr | ir.Call):
                expression = expression.function if isinstance(expression, ir.Call) else expression.base
            if isinstance(expression, ir.Name):
                self._escape(expression.id, frame)

    def _dict_set(self, base: Value, key: Value, value: Value) -> Value:
        if base.op == "dict":
            pairs = tuple(pair for pair in base.args[0] if pair[0] is not key)
            return self.values.make("dict", (*pairs, (key, value)))
        return self.values.make("merged", base, ((key, value),))


def _is_filled(value: Value) -> bool:
    """Whether a value is an object that a loop fills, and so stays itself after it."""
    if value.op == "phi":
        sides = [side for side in value.args[1:] if side.op != "unbound"]
        return all(map(_is_filled, sides))
    return value.op in ("grown", "inst", "dict", "closure")


def _is_single(iterable: Value) -> bool:
    """`blocks[:1]`: there is no next iteration."""
    if iterable.op != "item" or iterable.args[1].op != "slice":
        return False
    lower, upper, _ = iterable.args[1].args
    starts = lower is None or (lower.op == "const" and lower.args[1] == 0)
    return starts and upper is not None and upper.op == "const" and upper.args[1] == 1


def _breaks(block: ir.Block) -> bool:
    """Whether a `break` of this very loop stands in a block."""
    for statement in block:
        if isinstance(statement, ir.Jump) and statement.kind == "break":
            return True
        if isinstance(statement, ir.If | ir.With | ir.Try) and _breaks(statement.body):
            return True
        if isinstance(statement, ir.If) and _breaks(statement.orelse):
            return True
        if isinstance(statement, ir.Try) and any(map(_breaks, statement.handlers)):
            return True
    return False


def _only_logs(block: ir.Block) -> bool:
    """Whether a block does nothing but tell somebody something."""
    for statement in block:
        if not isinstance(statement, ir.Evaluate) or not isinstance(statement.value, ir.Call):
            return False
        function = statement.value.function
        name = function.name if isinstance(function, ir.Attr) else getattr(function, "id", "")
        if name not in _TELLS:
            return False
    return True


def _leaves(block: ir.Block) -> bool:
    """Whether a `return`, `break` or `continue` stands in a block. What only raises says little about what goes on."""
    for statement in block:
        if isinstance(statement, ir.Return | ir.Jump):
            return True
        if isinstance(statement, ir.If | ir.With | ir.Try) and _leaves(statement.body):
            return True
        if isinstance(statement, ir.If) and _leaves(statement.orelse):
            return True
    return False


def _has_more(extra: list[Literal], branch: int) -> bool:
    return any(literal.branch != branch for literal in extra)


def _usage_of(target: Expr) -> str:
    if type(target) is ir.Display:
        if any(type(item) is ir.Star for item in target.items):
            return "other"
        return f"unpack:{len(target.items)}"
    return "name" if type(target) is ir.Name else "other"


_RUN: dict[type, Callable[[Statements, Any, Frame], bool]] = {
    ir.Assign: Statements._assign_statement,
    ir.Evaluate: Statements._evaluate_statement,
    ir.If: Statements._if_statement,
    ir.For: Statements._for_statement,
    ir.While: Statements._while_statement,
    ir.Try: Statements._try_statement,
    ir.With: Statements._with_statement,
    ir.Return: Statements._return_statement,
    ir.Raise: Statements._raise_statement,
    ir.Jump: Statements._jump_statement,
    ir.Define: Statements._define_statement,
    ir.Delete: Statements._delete_statement,
    ir.Assert: Statements._assert_statement,
    ir.Import: Statements._import_statement,
}
