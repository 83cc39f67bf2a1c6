"""The loops that make pods of this node true: one worker per pod, and what workers share."""
