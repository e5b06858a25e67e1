from .tasks.base import OUTCOMES as OUTCOMES
from .tasks.base import Sample as Sample
from .tasks.base import Task as Task
from .tasks.base import ValidationResult as ValidationResult
from .tasks.registry import multi_task as multi_task
from .tasks.registry import task as task
from .tasks.registry import task_names as task_names
