# Input and params functions of eval.smk.


CHOICES = EXPERIMENT.evaluation.multiple_choice
TASKS = CHOICES.tasks
CHOICES_PYTHON = engine_python(CHOICES.engine, "evaluation.multiple_choice.engine", "hf")


def task_arguments(wildcards):
    """Return the options of build_task for a task."""
    task = TASKS[wildcards.task]
    if task.harness:
        return options(harness=task.harness, revision=task.revision, shots=task.shots)
    template = options(
        template=f"config/tasks/{task.template}.yaml", language=task.language, shots=task.shots
    )
    if task.data is None:
        return template
    hub = task.data.hub
    if hub:
        return template + options(hub=hub.id, name=hub.name, split=hub.split, revision=hub.revision)
    return template + options(data=source_files(task.data)[0])


def task_inputs(wildcards):
    """Return a task's data file, if it has one here."""
    data = TASKS[wildcards.task].data
    return source_files(data) if data else []
