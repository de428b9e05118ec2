"""The web page: hand-written modules and styles, served as they stand; nothing comes from outside."""

from .page import page_router

__all__ = ["page_router"]
