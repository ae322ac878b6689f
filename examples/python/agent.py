"""An agent workflow in Python whose context is compacted by `sessionCompaction` of durable-compaction.

It keeps its messages in a list, as Python agents do today, and needs no code of ours: four activities and one child workflow by name, described by
docs/contract/*.schema.json. They are served by a worker of durable-compaction on the task queue `durable-compaction`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.workflow import ParentClosePolicy

SESSIONS = os.environ.get("SESSIONS_TASK_QUEUE", "durable-compaction")
AGENTS = os.environ.get("AGENTS_TASK_QUEUE", "python-agents")
STEPS = 8


@activity.defn
async def call_model(step: int, messages: int) -> dict[str, Any]:
    """Stands for a model that asks for a tool until its last step."""
    content: list[dict[str, Any]] = [{"type": "text", "text": f"Step {step}: {messages} messages seen."}]
    if step < STEPS:
        content.append({"type": "tool_use", "id": f"call_{step}", "name": "words", "input": {"step": step}})
    return {"role": "assistant", "content": content}


@activity.defn
async def run_tool(call_id: str) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call_id, "content": f"{call_id} " + "word " * 2200}
    return {"role": "user", "content": [result]}


async def session(name: str, session_id: str, **fields: Any) -> dict[str, Any]:
    """One activity of durable-compaction."""
    return await workflow.execute_activity(
        name,
        {"v": 1, "sessionId": session_id, **fields},
        task_queue=SESSIONS,
        start_to_close_timeout=timedelta(seconds=30),
        heartbeat_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=30)),
    )


@workflow.defn
class Agent:
    @workflow.run
    async def run(self, session_id: str) -> dict[str, Any]:
        header = {"provider": "scripted", "model": "x", "system": "You count words.", "tools": [], "maxTokens": 1000}
        await session("sessionOpen", session_id, header=header, policy={"micro": False, "prune": False})
        prompt = {"role": "user", "content": "Count the words."}
        started = await session("sessionStartTurn", session_id, requestId="prompt-1", message=prompt)
        turn, reading, messages = started["turn"], started["reading"], [prompt]
        outcomes: list[dict[str, Any]] = []
        for step in range(1, STEPS + 1):
            if reading["pressure"] == "over":
                outcome = await self.compact(session_id, f"t{turn}.s{step}.pressure.0", turn)
                outcomes.append(outcome)
                # What the model sees now: the checkpoint, and the newest messages.
                parts = (await session("sessionMessages", session_id))["parts"]
                messages = [part for part in parts if isinstance(part, dict)]
            reply = await workflow.execute_activity(
                call_model, args=[step, len(messages)], start_to_close_timeout=timedelta(minutes=10)
            )
            entries = [{"message": reply}]
            for call in [block for block in reply["content"] if block["type"] == "tool_use"]:
                result = await workflow.execute_activity(
                    run_tool, call["id"], start_to_close_timeout=timedelta(minutes=2)
                )
                entries.append({"message": result})
            messages += [entry["message"] for entry in entries]
            appended = await session("sessionAppend", session_id, turn=turn, step=step, entries=entries)
            reading = appended["reading"]
        await session("sessionEndTurn", session_id, turn=turn, reason="completed")
        return {"turn": turn, "messages": len(messages), "outcomes": outcomes}

    async def compact(self, session_id: str, compaction_id: str, turn: int) -> dict[str, Any]:
        """Runs one compaction; whatever happens to the child, its bracket is closed and has an outcome."""
        try:
            return await workflow.execute_child_workflow(
                "sessionCompaction",
                {"v": 1, "sessionId": session_id, "compactionId": compaction_id, "turn": turn, "cause": "pressure"},
                id=f"{session_id}/compact/{compaction_id}",
                task_queue=SESSIONS,
                run_timeout=timedelta(minutes=30),
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
            )
        except Exception as failure:  # noqa: BLE001 - terminated, timed out, or started already before a reset
            error = {"code": "interrupted", "stage": "session", "message": str(failure)}
            return await session("sessionCloseAttempt", session_id, compactionId=compaction_id, error=error)


async def main() -> None:
    session_id = sys.argv[1]
    client = await Client.connect(os.environ.get("TEMPORAL_ADDRESS", "localhost:7233"))
    async with Worker(client, task_queue=AGENTS, workflows=[Agent], activities=[call_model, run_tool]):
        result = await client.execute_workflow(
            Agent.run, session_id, id=f"agent-of-{session_id}", task_queue=AGENTS
        )
    for outcome in result["outcomes"]:
        print("compaction:", outcome["outcome"], outcome["tokensBefore"], "→", outcome["tokensAfter"])
    print("turn:", result["turn"], "messages:", result["messages"])


if __name__ == "__main__":
    asyncio.run(main())
    # Threads of Temporal's SDK may outlive the loop and abort an interpreter that finalizes (temporalio/sdk-python#300).
    sys.stdout.flush()
    os._exit(0)
